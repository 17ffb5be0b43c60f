// The functions of libc that write, synchronise, copy and close descriptors, as they are with files on the
// node's disk.
#pragma once

#include <cstdint>

namespace mpiric::files::node_local {

/// Puts these calls before libc's.
void lead_calls() noexcept;

}  // namespace mpiric::files::node_local
