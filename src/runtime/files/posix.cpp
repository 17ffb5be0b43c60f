#include "files/posix.hpp"

#include "base/thread.hpp"
#include "files/descriptors.hpp"
#include "profile/context.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <ticks.hpp>

namespace mpiric::files {
namespace {

constexpr const char* names[posix_count] = {
#define MPIRIC_POSIX(name) #name,
#include "files/posix.inc"
#undef MPIRIC_POSIX
};
constinit void* found[posix_count];

template <class Pointer> Pointer real(Posix which) noexcept {
    return reinterpret_cast<Pointer>(next_posix(static_cast<uint32_t>(which)));
}

/// Whether this call is the program's own: what MPI and we ourselves read and write is not, nor what a signal
/// handler does that has come between us and a lock of ours.
bool counts(Thread& self) noexcept { return runtime.recording && locks_held == 0 && !nested(self); }

/// Calls and, when it counts, tells what came of it and how long it took. errno stays that of the call.
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

int64_t bytes_of(ssize_t result) noexcept { return int64_t(result); }

int open_by(Posix which, const char* path, int flags, mode_t mode) {
    return watched([&] { return real<int (*)(const char*, int, ...)>(which)(path, flags, mode); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           descriptor_opened(result, path, took);
                   });
}

int open_at_by(Posix which, int directory, const char* path, int flags, mode_t mode) {
    return watched(
        [&] { return real<int (*)(int, const char*, int, ...)>(which)(directory, path, flags, mode); },
        [&](int result, uint64_t took) {
            if (result >= 0)
                descriptor_opened(result, path, took);
        });
}

/// The mode behind the flags; garbage, as for libc, when the flags ask for none.
#define MPIRIC_MODE(last)                                                                                    \
    va_list arguments;                                                                                       \
    va_start(arguments, last);                                                                               \
    const mode_t mode = va_arg(arguments, mode_t);                                                           \
    va_end(arguments)

int w_open(const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return open_by(Posix::open, path, flags, mode);
}
int w_open64(const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return open_by(Posix::open64, path, flags, mode);
}
int w_openat(int directory, const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return open_at_by(Posix::openat, directory, path, flags, mode);
}
int w_openat64(int directory, const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    return open_at_by(Posix::openat64, directory, path, flags, mode);
}
#undef MPIRIC_MODE

template <Posix which> int create(const char* path, mode_t mode) {
    return watched([&] { return real<int (*)(const char*, mode_t)>(which)(path, mode); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           descriptor_opened(result, path, took);
                   });
}

int w_close(int descriptor) {
    return watched([&] { return real<int (*)(int)>(Posix::close)(descriptor); },
                   [&](int, uint64_t took) { descriptor_closed(descriptor, took); });
}

ssize_t w_read(int descriptor, void* to, size_t bytes) {
    return watched(
        [&] { return real<ssize_t (*)(int, void*, size_t)>(Posix::read)(descriptor, to, bytes); },
        [&](ssize_t got, uint64_t took) { descriptor_read(descriptor, {bytes_of(got), -1, took, false}); });
}

ssize_t w_write(int descriptor, const void* from, size_t bytes) {
    return watched(
        [&] { return real<ssize_t (*)(int, const void*, size_t)>(Posix::write)(descriptor, from, bytes); },
        [&](ssize_t put, uint64_t took) { descriptor_wrote(descriptor, {bytes_of(put), -1, took, false}); });
}

template <Posix which> ssize_t read_at(int descriptor, void* to, size_t bytes, off_t offset) {
    return watched(
        [&] { return real<ssize_t (*)(int, void*, size_t, off_t)>(which)(descriptor, to, bytes, offset); },
        [&](ssize_t got, uint64_t took) {
            descriptor_read(descriptor, {bytes_of(got), offset, took, false});
        });
}

template <Posix which> ssize_t write_at(int descriptor, const void* from, size_t bytes, off_t offset) {
    return watched(
        [&] {
            return real<ssize_t (*)(int, const void*, size_t, off_t)>(which)(descriptor, from, bytes, offset);
        },
        [&](ssize_t put, uint64_t took) {
            descriptor_wrote(descriptor, {bytes_of(put), offset, took, false});
        });
}

ssize_t w_readv(int descriptor, const iovec* parts, int count) {
    return watched(
        [&] { return real<ssize_t (*)(int, const iovec*, int)>(Posix::readv)(descriptor, parts, count); },
        [&](ssize_t got, uint64_t took) { descriptor_read(descriptor, {bytes_of(got), -1, took, false}); });
}

ssize_t w_writev(int descriptor, const iovec* parts, int count) {
    return watched(
        [&] { return real<ssize_t (*)(int, const iovec*, int)>(Posix::writev)(descriptor, parts, count); },
        [&](ssize_t put, uint64_t took) { descriptor_wrote(descriptor, {bytes_of(put), -1, took, false}); });
}

template <Posix which> off_t seek(int descriptor, off_t offset, int whence) {
    return watched([&] { return real<off_t (*)(int, off_t, int)>(which)(descriptor, offset, whence); },
                   [&](off_t at, uint64_t) { descriptor_moved(descriptor, at); });
}

template <Posix which> int synchronise(int descriptor) {
    return watched([&] { return real<int (*)(int)>(which)(descriptor); },
                   [&](int, uint64_t took) { descriptor_synced(descriptor, took); });
}

template <Posix which> int truncate(int descriptor, off_t length) {
    return watched([&] { return real<int (*)(int, off_t)>(which)(descriptor, length); },
                   [&](int, uint64_t took) { path_asked(took); });
}

template <Posix which, class... Arguments> int on_path(Arguments... arguments) {
    return watched([&] { return real<int (*)(Arguments...)>(which)(arguments...); },
                   [&](int, uint64_t took) { path_asked(took); });
}

template <Posix which> FILE* open_stream(const char* path, const char* mode) {
    return watched([&] { return real<FILE* (*)(const char*, const char*)>(which)(path, mode); },
                   [&](FILE* stream, uint64_t took) {
                       if (stream)
                           descriptor_opened(fileno(stream), path, took);
                   });
}

int w_fclose(FILE* stream) {
    const int descriptor = stream && counts(thread) ? fileno(stream) : -1;
    return watched([&] { return real<int (*)(FILE*)>(Posix::fclose)(stream); },
                   [&](int, uint64_t took) { descriptor_closed(descriptor, took); });
}

size_t w_fread(void* to, size_t size, size_t count, FILE* stream) {
    return watched(
        [&] { return real<size_t (*)(void*, size_t, size_t, FILE*)>(Posix::fread)(to, size, count, stream); },
        [&](size_t got, uint64_t took) {
            descriptor_read(fileno(stream), {int64_t(got * size), -1, took, true});
        });
}

void stream_wrote(FILE* stream, int64_t bytes, uint64_t took) noexcept {
    descriptor_wrote(fileno(stream), {bytes, -1, took, true});
}

size_t w_fwrite(const void* from, size_t size, size_t count, FILE* stream) {
    return watched(
        [&] {
            return real<size_t (*)(const void*, size_t, size_t, FILE*)>(Posix::fwrite)(from, size, count,
                                                                                       stream);
        },
        [&](size_t put, uint64_t took) { stream_wrote(stream, int64_t(put * size), took); });
}

int w_fputs(const char* text, FILE* stream) {
    return watched([&] { return real<int (*)(const char*, FILE*)>(Posix::fputs)(text, stream); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           stream_wrote(stream, int64_t(std::strlen(text)), took);
                   });
}

int w_puts(const char* text) {
    return watched([&] { return real<int (*)(const char*)>(Posix::puts)(text); },
                   [&](int result, uint64_t took) {
                       if (result >= 0)
                           stream_wrote(stdout, int64_t(std::strlen(text)) + 1, took);
                   });
}

int print(FILE* stream, const char* format, va_list arguments) {
    return watched(
        [&] {
            return real<int (*)(FILE*, const char*, va_list)>(Posix::vfprintf)(stream, format, arguments);
        },
        [&](int put, uint64_t took) { stream_wrote(stream, put, took); });
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

constexpr auto w_creat = &create<Posix::creat>;
constexpr auto w_creat64 = &create<Posix::creat64>;
constexpr auto w_pread = &read_at<Posix::pread>;
constexpr auto w_pread64 = &read_at<Posix::pread64>;
constexpr auto w_pwrite = &write_at<Posix::pwrite>;
constexpr auto w_pwrite64 = &write_at<Posix::pwrite64>;
constexpr auto w_lseek = &seek<Posix::lseek>;
constexpr auto w_lseek64 = &seek<Posix::lseek64>;
constexpr auto w_fsync = &synchronise<Posix::fsync>;
constexpr auto w_fdatasync = &synchronise<Posix::fdatasync>;
constexpr auto w_ftruncate = &truncate<Posix::ftruncate>;
constexpr auto w_ftruncate64 = &truncate<Posix::ftruncate64>;
constexpr auto w_unlink = &on_path<Posix::unlink, const char*>;
constexpr auto w_rename = &on_path<Posix::rename, const char*, const char*>;
constexpr auto w_mkdir = &on_path<Posix::mkdir, const char*, mode_t>;
constexpr auto w_access = &on_path<Posix::access, const char*, int>;
constexpr auto w_stat = &on_path<Posix::stat, const char*, struct stat*>;
constexpr auto w_stat64 = &on_path<Posix::stat64, const char*, struct stat64*>;
constexpr auto w_lstat = &on_path<Posix::lstat, const char*, struct stat*>;
constexpr auto w_lstat64 = &on_path<Posix::lstat64, const char*, struct stat64*>;
constexpr auto w_fopen = &open_stream<Posix::fopen>;
constexpr auto w_fopen64 = &open_stream<Posix::fopen64>;

void* const wrappers[posix_count] = {
#define MPIRIC_POSIX(name) reinterpret_cast<void*>(w_##name),
#include "files/posix.inc"
#undef MPIRIC_POSIX
};

/// All at once and early: a first call may come from a signal handler, where the dynamic linker must not be
/// asked.
[[gnu::constructor]] void find_next_functions() {
    for (uint32_t at = 0; at < posix_count; ++at)
        next_posix(at);
}

}  // namespace

void* next_posix(uint32_t at) noexcept {
    if (!found[at])
        found[at] = dlsym(RTLD_NEXT, names[at]);
    return found[at];
}

void* posix_wrapper(uint32_t at) noexcept { return found[at] ? wrappers[at] : nullptr; }

}  // namespace mpiric::files
