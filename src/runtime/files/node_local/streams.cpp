#include "files/node_local/streams.hpp"

#include "files/deferred/stream_buffers.hpp"
#include "files/direct.hpp"
#include "files/node_local/staged.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <unistd.h>

namespace mpiric::files::node_local {
namespace {

template <class Pointer> Pointer by_name(Posix which) noexcept {
    return reinterpret_cast<Pointer>(libc_posix(uint32_t(which)));
}

/// What a stream stands on, and the buffer that it begins with: as large as that of a stream of stdio's own,
/// so that files grow by the same steps.
struct Cookie {
    int descriptor;
    char buffer[BUFSIZ];
};

int descriptor_of(void* cookie) noexcept { return static_cast<Cookie*>(cookie)->descriptor; }

/// All of it or, as for fopencookie(3), 0 for an error.
ssize_t write_cookie(void* cookie, const char* from, size_t bytes) {
    const auto write = by_name<ssize_t (*)(int, const void*, size_t)>(Posix::write);
    size_t done = 0;
    while (done < bytes) {
        const ssize_t put = write(descriptor_of(cookie), from + done, bytes - done);
        if (put <= 0)
            break;
        done += size_t(put);
    }
    return ssize_t(done);
}

int seek_cookie(void* cookie, off64_t* at, int whence) {
    const off64_t now = direct(SYS_lseek, descriptor_of(cookie), *at, whence);
    if (now < 0)
        return -1;
    *at = now;
    return 0;
}

int close_cookie(void* cookie) {
    const int result = by_name<int (*)(int)>(Posix::close)(descriptor_of(cookie));
    const int error = errno;
    delete static_cast<Cookie*>(cookie);
    errno = error;
    return result;
}

/// The flags of open(2) for a mode of fopen(3) that makes a file and only writes; 0 for another. One that
/// reads as well would be buffered otherwise than a stream of stdio's own, and for `ccs=` and `m` stdio alone
/// knows how.
int flags_of(const char* mode) noexcept {
    if ((*mode != 'w' && *mode != 'a') || std::strpbrk(mode, "+,m"))
        return 0;
    return O_CREAT | O_WRONLY | (*mode == 'a' ? O_APPEND : O_TRUNC) | (std::strchr(mode, 'x') ? O_EXCL : 0) |
           (std::strchr(mode, 'e') ? O_CLOEXEC : 0);
}

}  // namespace

std::FILE* stage_stream(const char* path, const char* mode) noexcept {
    const int flags = concerns(path) && mode ? flags_of(mode) : 0;
    const int file = flags ? stage(AT_FDCWD, path, flags, 0666) : -1;
    if (file < 0)
        return nullptr;
    const char plain[] = {*mode, '\0'};
    auto* cookie = new (std::nothrow) Cookie{file, {}};
    std::FILE* stream =
        cookie ? fopencookie(cookie, plain, {nullptr, write_cookie, seek_cookie, close_cookie}) : nullptr;
    struct stat facts{};
    if (!stream) {
        delete cookie;
        by_name<int (*)(int)>(Posix::close)(file);
        return nullptr;
    }
    stream->_fileno = file;  // what fileno(3) tells
    if (direct(SYS_fstat, file, &facts) == 0)
        by_name<int (*)(std::FILE*, char*, int, size_t)>(Posix::setvbuf)(stream, cookie->buffer, _IOFBF,
                                                                         deferred::plain_block(facts));
    return stream;
}

}  // namespace mpiric::files::node_local
