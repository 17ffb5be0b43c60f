// Files that are open through MPI-IO, and their rows in the record.
#pragma once

#include "world/library.hpp"
#include "wrap/runtime.hpp"

#include <cstdint>

namespace mpiric::wrap {

/// An access of fewer bytes is a small one.
inline constexpr uint64_t small_access_bytes = 4096;

/// Row of a file just opened by so many processes; null when there is no room.
profile::File* open_file(MPI_File file, const char* path, uint32_t processes) noexcept;
profile::File* file_of(MPI_File file) noexcept;
void close_file(MPI_File file) noexcept;

/// Changes a row; several threads may want to.
template <class Tell> void tell_file(profile::File& row, Tell&& tell) noexcept {
    const Held held(runtime.recorder.lock(), runtime.recorder.many_threads());
    tell(row);
}

}  // namespace mpiric::wrap
