// Hints of MPI-IO that are in force, read back from the library.
#pragma once

#include "world/library.hpp"

namespace mpiric::files {

/// While recording, rank 0 of the file's communicator writes the hints in force into `hints.<world rank>` of
/// the record's directory: a line `file PATH`, then `KEY VALUE` each; of the first files it opens only.
void note_hints(MPI_File file, const char* path, MPI_Comm comm) noexcept;

}  // namespace mpiric::files
