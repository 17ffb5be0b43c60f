// The wrappers of libc's names: they count its input and output, and set layouts of its files.
#include "posix/posix.hpp"
#include "base/thread.hpp"
#include "files/files.hpp"
#include "layouts/layouts.hpp"
#include "profile/context.hpp"
#include "symbols/next.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <processor.hpp>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace mpiric::wrap {
namespace {

using namespace files;
using layouts::lay_out;

template <class Pointer> Pointer real(Posix which) noexcept {
    return reinterpret_cast<Pointer>(next_posix(static_cast<uint32_t>(which)));
}

/// real() for a name that <cstdio> or <unistd.h> declares.
#define MPIRIC_REAL(name) reinterpret_cast<decltype(&::name)>(next_posix(uint32_t(Posix::name)))

/// Whether this call is the program's own: reads and writes of MPI and of the runtime are not, nor are calls
/// of a signal handler that has interrupted code that holds a lock of ours.
bool counts(Thread& self) noexcept { return runtime.recording && self.locks_held == 0 && !nested(self); }

/// Calls the function and, if the call counts, hands its result and duration to `tell`. errno is the call's.
template <class Do, class Tell> auto watched(Do&& call, Tell&& tell) {
    Thread& self = thread;
    if (!counts(self))
        return call();
    const Inside inside(self);
    const uint64_t begin = ticks();
    auto result = call();
    const uint64_t end = ticks();
    tell(result, end - begin);
    runtime.recorder.in_files(begin, end);
    return result;
}

/// Whether the last of some bytes, of which there are any, ends a line.
bool ends_line(const void* from, ssize_t bytes) noexcept {
    return static_cast<const char*>(from)[bytes - 1] == '\n';
}
bool ends_line(const char* text) noexcept { return *text && ends_line(text, ssize_t(std::strlen(text))); }

template <class Open> int opened(const char* path, int flags, Open&& open) {
    return watched(open, [&](int result, uint64_t took) {
        if (result >= 0)
            descriptor_opened(result, path, flags, took);
    });
}

template <Posix which> int open_path(const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return opened(path, flags, [&] {
        const int go_on = lay_out(AT_FDCWD, path, flags, mode);
        return real<int (*)(const char*, int, ...)>(which)(path, go_on, mode);
    });
}

template <Posix which> int open_at(int directory, const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return opened(path, flags, [&] {
        const int go_on = lay_out(directory, path, flags, mode);
        return real<int (*)(int, const char*, int, ...)>(which)(directory, path, go_on, mode);
    });
}

template <Posix which> int create(const char* path, mode_t mode) {
    return opened(path, O_WRONLY | O_CREAT | O_TRUNC, [&] {
        lay_out(AT_FDCWD, path, O_CREAT, mode);
        return real<int (*)(const char*, mode_t)>(which)(path, mode);
    });
}

/// A read at the descriptor's own position.
template <Posix which, class... Arguments> ssize_t read_next(int descriptor, Arguments... arguments) {
    return watched([&] { return real<ssize_t (*)(int, Arguments...)>(which)(descriptor, arguments...); },
                   [&](ssize_t got, uint64_t took) { descriptor_read(descriptor, {got, -1, took, false}); });
}

/// A read of `bytes` bytes, or parts, at `offset`.
template <Posix which, class To, class Size>
ssize_t read_at(int descriptor, To to, Size bytes, off_t offset) {
    return watched(
        [&] { return real<ssize_t (*)(int, To, Size, off_t)>(which)(descriptor, to, bytes, offset); },
        [&](ssize_t got, uint64_t took) { descriptor_read(descriptor, {got, offset, took, false}); });
}

template <Posix which, class From, class Size>
ssize_t write_at(int descriptor, From from, Size bytes, off_t offset) {
    return watched(
        [&] { return real<ssize_t (*)(int, From, Size, off_t)>(which)(descriptor, from, bytes, offset); },
        [&](ssize_t put, uint64_t took) { descriptor_wrote(descriptor, {put, offset, took, false}); });
}

ssize_t w_write(int descriptor, const void* from, size_t bytes) {
    return watched([&] { return MPIRIC_REAL(write)(descriptor, from, bytes); },
                   [&](ssize_t put, uint64_t took) {
                       const bool line = put > 0 && ends_line(from, put);
                       descriptor_wrote(descriptor, {put, -1, took, false, line});
                   });
}

ssize_t w_writev(int descriptor, const iovec* parts, int count) {
    return watched([&] { return MPIRIC_REAL(writev)(descriptor, parts, count); },
                   [&](ssize_t put, uint64_t took) { descriptor_wrote(descriptor, {put, -1, took, false}); });
}

template <Posix which> off_t seek(int descriptor, off_t offset, int whence) {
    return watched([&] { return real<off_t (*)(int, off_t, int)>(which)(descriptor, offset, whence); },
                   [&](off_t at, uint64_t) { descriptor_moved(descriptor, at); });
}

template <Posix which, class Result, class... Arguments> Result on_path(Arguments... arguments) {
    return watched([&] { return real<Result (*)(Arguments...)>(which)(arguments...); },
                   [&](Result, uint64_t took) { path_asked(took); });
}

template <Posix which, void (*note)(int, uint64_t) noexcept, class... Arguments>
int on_descriptor(int descriptor, Arguments... arguments) {
    return watched([&] { return real<int (*)(int, Arguments...)>(which)(descriptor, arguments...); },
                   [&](int, uint64_t took) { note(descriptor, took); });
}

/// The form that programs built before glibc 2.33 call; `version` is the version of the structure.
template <Posix which, class Stat> int on_versioned(int version, int descriptor, Stat* into) {
    return watched([&] { return real<int (*)(int, int, Stat*)>(which)(version, descriptor, into); },
                   [&](int, uint64_t took) { descriptor_asked(descriptor, took); });
}

bool locks(int command) noexcept {
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

template <Posix which> int control(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void* argument = va_arg(arguments, void*);  // garbage, as for libc, when the command has none
    va_end(arguments);
    const auto call = [&] { return real<int (*)(int, int, ...)>(which)(descriptor, command, argument); };
    if (!locks(command))
        return call();
    return watched(call, [&](int, uint64_t took) { descriptor_locked(descriptor, took); });
}

/// The flags of open(2) for a mode of fopen(3).
int flags_of(const char* mode) noexcept {
    const bool both = std::strchr(mode, '+') != nullptr;
    if (*mode == 'r')
        return both ? O_RDWR : O_RDONLY;
    const int exclusive = std::strchr(mode, 'x') ? O_EXCL : 0;
    return (both ? O_RDWR : O_WRONLY) | O_CREAT | exclusive | (*mode == 'a' ? O_APPEND : O_TRUNC);
}

template <Posix which> FILE* open_stream(const char* path, const char* mode) {
    return watched(
        [&] {
            const int flags = flags_of(mode);
            char without[16] = "";
            if (lay_out(AT_FDCWD, path, flags, 0666) != flags && std::strlen(mode) < sizeof without) {
                std::remove_copy(mode, mode + std::strlen(mode), without, 'x');
                return real<FILE* (*)(const char*, const char*)>(which)(path, without);
            }
            return real<FILE* (*)(const char*, const char*)>(which)(path, mode);
        },
        [&](FILE* stream, uint64_t took) {
            if (stream)
                descriptor_opened(fileno(stream), path, flags_of(mode), took);
        });
}

void stream_wrote(FILE* stream, int64_t bytes, uint64_t took, bool line) noexcept {
    descriptor_wrote(fileno(stream), {bytes, -1, took, true, line});
}

int print(FILE* stream, const char* format, va_list arguments) {
    return watched([&] { return MPIRIC_REAL(vfprintf)(stream, format, arguments); },
                   [&](int put, uint64_t took) { stream_wrote(stream, put, took, ends_line(format)); });
}

int w_fflush(FILE* stream) {
    return watched([&] { return MPIRIC_REAL(fflush)(stream); },
                   [&](int, uint64_t took) {
                       if (stream)
                           descriptor_flushed(fileno(stream), took);
                   });
}

int w_fclose(FILE* stream) {
    const int descriptor = stream && counts(thread) ? fileno(stream) : -1;
    return watched([&] { return MPIRIC_REAL(fclose)(stream); },
                   [&](int, uint64_t took) { descriptor_closed(descriptor, took); });
}

size_t w_fread(void* to, size_t size, size_t count, FILE* stream) {
    return watched([&] { return MPIRIC_REAL(fread)(to, size, count, stream); },
                   [&](size_t got, uint64_t took) {
                       descriptor_read(fileno(stream), {int64_t(got * size), -1, took, true});
                   });
}

size_t w_fwrite(const void* from, size_t size, size_t count, FILE* stream) {
    return watched([&] { return MPIRIC_REAL(fwrite)(from, size, count, stream); },
                   [&](size_t put, uint64_t took) {
                       const auto bytes = int64_t(put * size);
                       stream_wrote(stream, bytes, took, bytes > 0 && ends_line(from, bytes));
                   });
}

int w_fputs(const char* text, FILE* stream) {
    return watched([&] { return MPIRIC_REAL(fputs)(text, stream); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           stream_wrote(stream, int64_t(std::strlen(text)), took, ends_line(text));
                   });
}

int w_puts(const char* text) {
    return watched([&] { return MPIRIC_REAL(puts)(text); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           stream_wrote(stdout, int64_t(std::strlen(text)) + 1, took, true);
                   });
}

int w_printf(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int put = print(stdout, format, arguments);
    va_end(arguments);
    return put;
}
int w_fprintf(FILE* stream, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int put = print(stream, format, arguments);
    va_end(arguments);
    return put;
}
int w_vprintf(const char* format, va_list arguments) { return print(stdout, format, arguments); }
int w_vfprintf(FILE* stream, const char* format, va_list arguments) {
    return print(stream, format, arguments);
}

#define MPIRIC_WRAPPER(name, call, ...)                                                                      \
    constexpr auto w_##name = &call<Posix::name __VA_OPT__(, ) __VA_ARGS__>;
#define MPIRIC_BOTH_SIZES(name, ...) MPIRIC_WRAPPER(name, __VA_ARGS__) MPIRIC_WRAPPER(name##64, __VA_ARGS__)
MPIRIC_BOTH_SIZES(fopen, open_stream)
MPIRIC_BOTH_SIZES(open, open_path)
MPIRIC_BOTH_SIZES(openat, open_at)
MPIRIC_WRAPPER(close, on_descriptor, descriptor_closed)
MPIRIC_WRAPPER(flock, on_descriptor, descriptor_locked, int)
MPIRIC_WRAPPER(opendir, on_path, DIR*, const char*)
MPIRIC_WRAPPER(read, read_next, void*, size_t)
MPIRIC_WRAPPER(readv, read_next, const iovec*, int)
MPIRIC_BOTH_SIZES(creat, create)
MPIRIC_BOTH_SIZES(pread, read_at, void*, size_t)
MPIRIC_BOTH_SIZES(pwrite, write_at, const void*, size_t)
MPIRIC_BOTH_SIZES(lseek, seek)
MPIRIC_WRAPPER(fsync, on_descriptor, descriptor_synced)
MPIRIC_WRAPPER(fdatasync, on_descriptor, descriptor_synced)
MPIRIC_BOTH_SIZES(ftruncate, on_path, int, int, off_t)
MPIRIC_WRAPPER(unlink, on_path, int, const char*)
MPIRIC_WRAPPER(rename, on_path, int, const char*, const char*)
MPIRIC_WRAPPER(mkdir, on_path, int, const char*, mode_t)
MPIRIC_WRAPPER(access, on_path, int, const char*, int)
MPIRIC_WRAPPER(stat, on_path, int, const char*, struct stat*)
MPIRIC_WRAPPER(stat64, on_path, int, const char*, struct stat64*)
MPIRIC_WRAPPER(lstat, on_path, int, const char*, struct stat*)
MPIRIC_WRAPPER(lstat64, on_path, int, const char*, struct stat64*)
MPIRIC_BOTH_SIZES(preadv, read_at, const iovec*, int)
MPIRIC_BOTH_SIZES(pwritev, write_at, const iovec*, int)
MPIRIC_WRAPPER(fstat, on_descriptor, descriptor_asked, struct stat*)
MPIRIC_WRAPPER(fstat64, on_descriptor, descriptor_asked, struct stat64*)
MPIRIC_WRAPPER(statx, on_path, int, int, const char*, int, unsigned, struct statx*)
// NOLINTBEGIN(bugprone-reserved-identifier): libc has called them so
MPIRIC_WRAPPER(__xstat, on_path, int, int, const char*, struct stat*)
MPIRIC_WRAPPER(__xstat64, on_path, int, int, const char*, struct stat64*)
MPIRIC_WRAPPER(__lxstat, on_path, int, int, const char*, struct stat*)
MPIRIC_WRAPPER(__lxstat64, on_path, int, int, const char*, struct stat64*)
MPIRIC_WRAPPER(__fxstat, on_versioned, struct stat)
MPIRIC_WRAPPER(__fxstat64, on_versioned, struct stat64)
// NOLINTEND(bugprone-reserved-identifier)
MPIRIC_BOTH_SIZES(fcntl, control)

void* const wrappers[posix_count] = {
#define MPIRIC_WRAPPER_watched(wrapper) reinterpret_cast<void*>(wrapper)
#define MPIRIC_WRAPPER_unwatched(wrapper) nullptr
#define MPIRIC_POSIX(name, watching, effect) MPIRIC_WRAPPER_##watching(w_##name),
#include "posix/names.inc"
#undef MPIRIC_POSIX
};

}  // namespace

}  // namespace mpiric::wrap

void* mpiric::symbols::posix_wrapper_of(uint32_t at) noexcept {
    return has_posix(at) ? wrap::wrappers[at] : nullptr;
}
