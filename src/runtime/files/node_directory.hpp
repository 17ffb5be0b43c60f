// The user's own directory on the node's disk.
#pragma once

#include <climits>

namespace mpiric::files {

/// `DIRECTORY/mpiric-local-USER`, made where it is not there; DIRECTORY is the one that is given, else
/// TMPDIR, else /tmp. False where other nodes share it, or it is not the user's alone.
bool write_node_directory(char (&to)[PATH_MAX], const char* given) noexcept;

}  // namespace mpiric::files
