// Values of the predefined handles; one source file per way a family has of defining them.
#pragma once

#include "world/library.hpp"

namespace mpiric::world {

Handles predefined() noexcept;

/// Whether an operation is one of MPI's own.
bool is_predefined(MPI_Op op) noexcept;

}  // namespace mpiric::world
