// Barrier: stages of the algorithms of this folder. See the files of the same names.
#pragma once

#include "coll/message.hpp"

namespace mpiric::coll {

int dissemination(const Team& team, const Group& group, int radix);
/// Where every node has a board.
int hierarchical_barrier(const Team& team, int radix);
/// Over the ranks of this node, through the board.
void shared_barrier(const Team& team) noexcept;
/// Ranks go on as nearly at the same time as they can: by the barrier whose messages follow their places.
int meet(const Team& team);

}  // namespace mpiric::coll
