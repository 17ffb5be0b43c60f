// The functions of libc that open, close and write files, as they are while output is held back.
#pragma once

#include <cstdint>

namespace mpiric::deferred {

/// Replacement of a libc function, by its number in Posix; null: no replacement.
void* deferring_call(uint32_t at) noexcept;

/// Writes out what is held of files.
void write_out_all() noexcept;

}  // namespace mpiric::deferred
