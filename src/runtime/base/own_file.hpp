// Files that the runtime writes. No link is followed, no other user's file is written to.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/// Opens a file to append to it, created where it is missing; -1 for a link, another user's file, and a file
/// with another name.
inline int open_to_append(const char* path, mode_t mode) noexcept {
    const int file = open_no_link(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, mode);
    struct stat facts{};
    const bool is_own = file >= 0 && syscall(SYS_fstat, file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                        facts.st_uid == geteuid() && facts.st_nlink == 1;
    if (file < 0 || is_own)
        return file;
    ::close(file);
    errno = EPERM;
    return -1;
}

/// Whether the limit on the size of files (`ulimit -f`) allows this process to write so large a file. Beyond
/// it the kernel sends SIGXFSZ, which ends the program.
inline bool may_be_as_long_as(uint64_t bytes) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

/// Makes and maps a new file DIRECTORY/rank-R.HOST.PID.SUFFIX, whose name goes to `path`, with all its room
/// given at once: a full disk must be an error here and now, not a SIGBUS in the middle of the program. Null
/// where that fails, with the `reason`.
template <size_t room>
void* map_rank_file(char (&path)[room], const char* directory, int rank, const char* suffix, uint64_t bytes,
                    const char*& reason) noexcept {
    char host[65] = {};
    gethostname(host, sizeof host - 1);
    const int length =
        std::snprintf(path, room, "%s/rank-%d.%s.%d.%s", directory, rank, host, int(getpid()), suffix);
    if (length < 0 || size_t(length) >= room) {
        reason = "the path is too long";
        return nullptr;
    }
    mkdir(directory, 0755);
    if (!may_be_as_long_as(bytes)) {
        reason = std::strerror(EFBIG);
        return nullptr;
    }
    const int file = create_file(path, O_RDWR, 0644);
    if (file < 0) {
        reason = std::strerror(errno);
        return nullptr;
    }
    const int refused = posix_fallocate(file, 0, off_t(bytes));
    void* at = refused ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        reason = std::strerror(refused ? refused : errno);
        unlink(path);
    }
    ::close(file);
    return at == MAP_FAILED ? nullptr : at;
}

}  // namespace mpiric
