// The functions of libc that open, close and write files, as they are while output is held back.
#pragma once

#include <cstdint>

namespace mpiric::deferred {

/// What stands for a name of libc, a number of Posix; null: libc's own.
void* deferring_call(uint32_t at) noexcept;

/// Writes out what is held of files.
void write_out_all() noexcept;

}  // namespace mpiric::deferred
