// Files in directories where other users may write: no link is followed, no other user's file is written to.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric {

// System calls: the names of libc may lead to our own wrappers.
inline int open_no_link(const char* path, int flags, mode_t mode = 0) noexcept {
    return int(syscall(SYS_openat, AT_FDCWD, path, flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

/// Creates a file; -1 with EEXIST where the name is taken, by a link too.
inline int create_file(const char* path, int flags, mode_t mode) noexcept {
    return open_no_link(path, flags | O_CREAT | O_EXCL, mode);
}

/// Returns whether an open file is a regular one of this user, without another name where `written` to.
inline bool is_own_file(int file, bool written) noexcept {
    struct stat facts{};
    return syscall(SYS_fstat, file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
           (!written || facts.st_nlink == 1);
}

/// Opens a file to append to it, created where it is missing; -1 for a link and for another user's file.
inline int open_to_append(const char* path, mode_t mode) noexcept {
    const int file = open_no_link(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, mode);
    if (file < 0 || is_own_file(file, true))
        return file;
    ::close(file);
    errno = EPERM;
    return -1;
}

}  // namespace mpiric
