// The process's own input and output, seen through the names of libc.
#pragma once

#include <cstdint>

namespace mpiric::wrap {

enum class Posix : uint32_t {
#define MPIRIC_POSIX(name) name,
#include "files/posix.inc"
#undef MPIRIC_POSIX
    count
};
inline constexpr uint32_t posix_count = static_cast<uint32_t>(Posix::count);

/// libc's own function, or that of another interposer behind us.
void* posix_behind(uint32_t at) noexcept;
/// The wrapper that counts.
void* posix_wrapper(uint32_t at) noexcept;

}  // namespace mpiric::wrap
