// A directory of this process on the node's disk.
#pragma once

#include <climits>

namespace mpiric::inputs {

/// Makes a new `PARENT/mpiric-local-USER.PID.N` that only this user can enter; an empty PARENT: TMPDIR, else
/// /tmp. False, with an empty path, where other nodes share PARENT or nothing can be made in it.
bool make_node_directory(char (&to)[PATH_MAX], const char* parent) noexcept;
void remove_node_directory(const char* directory) noexcept;

}  // namespace mpiric::inputs
