// What the library says, through MPI_T, of the transports and collective algorithms that it uses.
#pragma once

#include "system/process.hpp"

namespace mpiric::select {

/// Facts `library.transport` and `library.<collective>`. What a library decides by itself, call by call, it
/// does not say: of algorithms only those that settings name are seen. Of MPICH's network modules it says
/// nothing, and Intel MPI says nothing at all.
void tell_selected(system::Tell tell) noexcept;

}  // namespace mpiric::select
