// Files that are open through MPI-IO, and their rows in the record.
#pragma once

#include "world/volume.hpp"

#include <cstdint>

namespace mpiric::files {

/// An open of a file by several processes.
struct SharedOpen {
    const char* path;
    uint32_t processes;
    int mode;       ///< MPI_MODE_…
    bool is_first;  ///< whether this rank is the communicator's first, who creates what is not there
    uint64_t ticks;
};

/// A completed access, or one in progress that has moved the file pointer already.
struct SharedAccess {
    bool is_write;
    uint64_t bytes;
    uint64_t ticks;
    world::FilePlace place;
};

void file_opened(MPI_File file, const SharedOpen& open) noexcept;
void view_changed(MPI_File file, MPI_Datatype elementary) noexcept;
void file_accessed(MPI_File file, const SharedAccess& access) noexcept;
void forget_file(MPI_File file) noexcept;

/// While recording, rank 0 of the file's communicator writes the hints in force into `hints.<world rank>` of
/// the record's directory: a line `file PATH`, then `KEY VALUE` each; of the first files it opens only.
void note_hints(MPI_File file, const char* path, MPI_Comm comm) noexcept;

}  // namespace mpiric::files
