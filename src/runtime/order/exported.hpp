// Names by which a Fortran layer calls its library past the names of MPI. The build exports every name that
// MPIRIC_EXPORTED declares.
#pragma once

#include "world/library.hpp"

#define MPIRIC_EXPORTED extern "C" [[gnu::visibility("default")]]

namespace mpiric::order {

/// The definition that a name leads to without us.
template <class Pointer> Pointer following(const char* name) noexcept {
    void* linked = world::find_linked(name);
    return reinterpret_cast<Pointer>(linked ? linked : world::find(name));
}

}  // namespace mpiric::order
