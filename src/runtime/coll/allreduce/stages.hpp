// Allreduce over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/reduction.hpp"

namespace mpiric::coll {

/// All members have their operand in `data` and end with the result there. See the files of the same names.
int recursive_doubling(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept;

}  // namespace mpiric::coll
