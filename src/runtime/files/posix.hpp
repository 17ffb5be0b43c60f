// The process's own input and output, seen through the names of libc.
#pragma once

#include <cstdint>

namespace mpiric::files {

enum class Posix : uint32_t {
#define MPIRIC_POSIX(name) name,
#include "files/posix.inc"
#undef MPIRIC_POSIX
    count
};
inline constexpr uint32_t posix_count = static_cast<uint32_t>(Posix::count);

/// The next definition of a name: libc's, or that of another interposer.
void* next_posix(uint32_t at) noexcept;
/// The wrapper that counts.
void* posix_wrapper(uint32_t at) noexcept;

}  // namespace mpiric::files
