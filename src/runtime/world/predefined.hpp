// Values of the predefined handles; one source file per way a family has of defining them.
#pragma once

#include "world/library.hpp"

namespace mpiric::world {

Handles predefined() noexcept;

}  // namespace mpiric::world
