// Files that are open through MPI-IO, and their rows in the record.
#pragma once

#include "profile/context.hpp"
#include "world/library.hpp"

#include <cstdint>

namespace mpiric::files {

/// Accesses below are counted as small.
inline constexpr uint64_t small_access_bytes = 4096;

/// Gives a file that `processes` have opened its row; null when there is no room.
profile::File* add_file(MPI_File file, const char* path, uint32_t processes) noexcept;
profile::File* file_row(MPI_File file) noexcept;
void forget_file(MPI_File file) noexcept;

/// Changes a row, under the lock of the recorder.
template <class Change> void update(profile::File& row, Change&& change) noexcept {
    const Held held(runtime.recorder.lock(), runtime.recorder.many_threads());
    change(row);
}

}  // namespace mpiric::files
