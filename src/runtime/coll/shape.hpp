// From one rank's arguments to what all ranks know of a call.
#pragma once

#include "coll/team.hpp"

namespace mpiric::coll {

/// Pure but for questions about the datatype and the operation. Every rank of a correct program gets the
/// same.
Shape shape_of(Collective collective, const Call& call) noexcept;

}  // namespace mpiric::coll
