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
inline bool direct_unlink(const char* path) noexcept { return direct(SYS_unlinkat, AT_FDCWD, path, 0) == 0; }
inline bool is_there(int directory, const char* path) noexcept {
    return direct(SYS_faccessat, directory, path, F_OK) == 0;
}
/// Whether a name is taken, by a link that leads nowhere too. It asks no server for a file's size.
inline bool is_taken(int directory, const char* path) noexcept {
    char target;
    return direct(SYS_readlinkat, directory, path, &target, 1) >= 0 || errno == EINVAL;
}

/// A descriptor of ours, closed at the end of its scope.
class Opened {
  public:
    explicit Opened(int descriptor) noexcept : descriptor_(descriptor) {}
    ~Opened() {
        const int error = errno;
        if (descriptor_ >= 0)
            direct_close(descriptor_);
        errno = error;
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    operator int() const noexcept { return descriptor_; }

  private:
    int descriptor_;
};

}  // namespace mpiric
