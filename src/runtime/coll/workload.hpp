// The facts of a call that all ranks know, from one rank's arguments.
#pragma once

#include "coll/team.hpp"

namespace mpiric::coll {

/// Pure but for questions about the datatype and the operation. Every rank of a correct program gets the
/// same.
Workload workload_of(Collective collective, const Arguments& call) noexcept;

}  // namespace mpiric::coll
