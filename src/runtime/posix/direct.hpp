// System calls past the names of libc, which lead to the runtime.
#pragma once

#include "posix/posix.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace mpiric {

template <class... Arguments> long direct(long number, Arguments... arguments) noexcept {
    const auto call = reinterpret_cast<long (*)(long, ...)>(libc_posix(uint32_t(Posix::syscall)));
    return call(number, arguments...);
}

inline int direct_open(int directory, const char* path, int flags, mode_t mode = 0) noexcept {
    return int(direct(SYS_openat, directory, path, flags | O_CLOEXEC, mode));
}
inline void direct_close(int descriptor) noexcept { direct(SYS_close, descriptor); }
/// Whether a name is taken, by a link that leads nowhere too. It asks no server for a file's size.
inline bool is_taken(int directory, const char* path) noexcept {
    char target;
    return direct(SYS_readlinkat, directory, path, &target, 1) >= 0 || errno == EINVAL;
}

}  // namespace mpiric
