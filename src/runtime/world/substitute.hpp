// The one place where a handle of the program may become another one.
#pragma once

#include "world/library.hpp"

namespace mpiric::world {

/// What stands for the program's MPI_COMM_WORLD: itself, until ranks are put in another order.
inline constinit MPI_Comm world_stand_in{};

inline MPI_Comm substitute(MPI_Comm comm) noexcept {
    return comm == handles.comm_world ? world_stand_in : comm;
}

}  // namespace mpiric::world
