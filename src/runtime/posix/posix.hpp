// The exported names of libc, and the next definition of each.
#pragma once

#include <cstdint>

namespace mpiric {

enum class Posix : uint32_t {
#define MPIRIC_POSIX(name) name,
#include "posix/names.inc"
#undef MPIRIC_POSIX
    count
};
inline constexpr uint32_t posix_count = static_cast<uint32_t>(Posix::count);

/// Whether calls by a name are counted for the record.
constexpr bool is_watched(Posix name) noexcept {
    constexpr bool watched[posix_count] = {
#define MPIRIC_POSIX(name) true,
#define MPIRIC_POSIX_UNWATCHED(name) false,
#include "posix/names.inc"
#undef MPIRIC_POSIX
    };
    return watched[static_cast<uint32_t>(name)];
}

/// Whether a call ends this program or starts another one.
constexpr bool leaves_program(Posix name) noexcept {
    switch (name) {
    case Posix::_exit:
    case Posix::_Exit:
    case Posix::quick_exit:
    case Posix::abort:
    case Posix::system:
    case Posix::popen:
    case Posix::posix_spawn:
    case Posix::posix_spawnp:
    case Posix::execl:
    case Posix::execle:
    case Posix::execlp:
    case Posix::execv:
    case Posix::execve:
    case Posix::execvp:
    case Posix::execvpe:
    case Posix::fexecve:
        return true;
    default:
        return false;
    }
}

/// The next definition of a name after this library: libc's, or another interposer's. For a name that this
/// libc lacks, a function that fails with ENOSYS.
void* libc_posix(uint32_t at) noexcept;
/// The function that the counting wrapper calls: the next definition, or the replacement set by
/// set_next_posix().
void* next_posix(uint32_t at) noexcept;
void set_next_posix(uint32_t at, void* call) noexcept;
/// Whether this libc has a name.
bool has_posix(uint32_t at) noexcept;

}  // namespace mpiric
