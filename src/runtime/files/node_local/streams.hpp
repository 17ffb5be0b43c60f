// Streams of stdio over files on the node's disk.
#pragma once

#include <cstdio>

namespace mpiric::files::node_local {

/// As fopen(3), for a file that is made node-local; null: it is to be opened in its own place. Its writes go
/// by the names of libc, where those of stdio's own streams do not: they survive that the node's disk is
/// full.
std::FILE* stage_stream(const char* path, const char* mode) noexcept;

}  // namespace mpiric::files::node_local
