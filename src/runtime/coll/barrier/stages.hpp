// Barrier: stages of the algorithms of this folder. See the files of the same names.
#pragma once

#include "coll/message.hpp"

namespace mpiric::coll {

int dissemination(const Team& team, const Group& group, int radix);
/// Over the ranks of this node, through the board.
void shared_barrier(const Team& team) noexcept;

}  // namespace mpiric::coll
