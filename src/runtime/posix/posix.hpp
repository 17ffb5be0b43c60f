// The exported names of libc, and the next definition of each.
#pragma once

#include <cstdarg>
#include <cstdint>

namespace mpiric {

enum class Posix : uint32_t {
#define MPIRIC_POSIX(name, ...) name,
#include "posix/names.inc"
#undef MPIRIC_POSIX
    count
};
inline constexpr uint32_t posix_count = static_cast<uint32_t>(Posix::count);

/// Effect of a libc call on output that is held back (spec/posix.toml).
enum class Effect : uint8_t { none, prints, shows, leaves, forks, closes };

struct PosixTraits {
    const char* name;
    Effect effect;
};
inline constexpr PosixTraits posix_traits[posix_count] = {
#define MPIRIC_POSIX(name, watching, effect) {#name, Effect::effect},
#include "posix/names.inc"
#undef MPIRIC_POSIX
};

/// For a variadic open: the mode behind the flags; garbage, as for libc, when the flags ask for none.
#define MPIRIC_MODE(last)                                                                                    \
    va_list arguments;                                                                                       \
    va_start(arguments, last);                                                                               \
    const mode_t mode = va_arg(arguments, mode_t);                                                           \
    va_end(arguments)

/// The next definition of a name after this library: libc's, or another interposer's. For a name that this
/// libc lacks, a function that fails with ENOSYS.
void* libc_posix(uint32_t at) noexcept;
/// The function that the counting wrapper calls: the next definition, or what set_next_posix() has set.
void* next_posix(uint32_t at) noexcept;
void set_next_posix(uint32_t at, void* call) noexcept;
/// Whether this libc has a name.
bool has_posix(uint32_t at) noexcept;

}  // namespace mpiric
