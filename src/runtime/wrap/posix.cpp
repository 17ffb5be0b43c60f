// The wrappers of libc's names: they count the program's own input and output, and set the layouts of files
// that it creates.
#include "layouts/layouts.hpp"
#include "symbols/next.hpp"
#include "wrap/streams.hpp"
#include "wrap/watched.hpp"

#include <cerrno>
#include <cstdarg>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

namespace mpiric::wrap {
namespace {

using namespace files;
using layouts::lay_out;

int open_by(Posix which, const char* path, int flags, mode_t mode) {
    return watched(
        [&] {
            const int go_on = lay_out(AT_FDCWD, path, flags, mode);
            return real<int (*)(const char*, int, ...)>(which)(path, go_on, mode);
        },
        [&](int result, uint64_t took) {
            if (result >= 0)
                descriptor_opened(result, path, flags, took);
        });
}

int open_at_by(Posix which, int directory, const char* path, int flags, mode_t mode) {
    return watched(
        [&] {
            const int go_on = lay_out(directory, path, flags, mode);
            return real<int (*)(int, const char*, int, ...)>(which)(directory, path, go_on, mode);
        },
        [&](int result, uint64_t took) {
            if (result >= 0)
                descriptor_opened(result, path, flags, took);
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
    return watched(
        [&] {
            lay_out(AT_FDCWD, path, O_CREAT, mode);
            return real<int (*)(const char*, mode_t)>(which)(path, mode);
        },
        [&](int result, uint64_t took) {
            if (result >= 0)
                descriptor_opened(result, path, O_WRONLY | O_CREAT | O_TRUNC, took);
        });
}

int w_close(int descriptor) {
    return watched([&] { return real<int (*)(int)>(Posix::close)(descriptor); },
                   [&](int, uint64_t took) { descriptor_closed(descriptor, took); });
}

/// A read at `offset`, or, where that is -1, at the descriptor's own position.
template <Posix which, class... Arguments>
ssize_t read_by(off_t offset, int descriptor, Arguments... arguments) {
    return watched([&] { return real<ssize_t (*)(int, Arguments...)>(which)(descriptor, arguments...); },
                   [&](ssize_t got, uint64_t took) {
                       descriptor_read(descriptor, {bytes_of(got), offset, took, false});
                   });
}

/// A write at `offset`, or, where that is -1, at the descriptor's own position.
template <Posix which, class... Arguments>
ssize_t write_by(off_t offset, int descriptor, Arguments... arguments) {
    return watched([&] { return real<ssize_t (*)(int, Arguments...)>(which)(descriptor, arguments...); },
                   [&](ssize_t put, uint64_t took) {
                       descriptor_wrote(descriptor, {bytes_of(put), offset, took, false});
                   });
}

ssize_t w_read(int descriptor, void* to, size_t bytes) {
    return read_by<Posix::read>(-1, descriptor, to, bytes);
}

ssize_t w_write(int descriptor, const void* from, size_t bytes) {
    return watched(
        [&] { return real<ssize_t (*)(int, const void*, size_t)>(Posix::write)(descriptor, from, bytes); },
        [&](ssize_t put, uint64_t took) {
            descriptor_wrote(descriptor, {bytes_of(put), -1, took, false, put > 0 && ends_line(from, put)});
        });
}

template <Posix which> ssize_t read_at(int descriptor, void* to, size_t bytes, off_t offset) {
    return read_by<which>(offset, descriptor, to, bytes, offset);
}

template <Posix which> ssize_t write_at(int descriptor, const void* from, size_t bytes, off_t offset) {
    return write_by<which>(offset, descriptor, from, bytes, offset);
}

ssize_t w_readv(int descriptor, const iovec* parts, int count) {
    return read_by<Posix::readv>(-1, descriptor, parts, count);
}

ssize_t w_writev(int descriptor, const iovec* parts, int count) {
    return write_by<Posix::writev>(-1, descriptor, parts, count);
}

template <Posix which> ssize_t read_parts_at(int descriptor, const iovec* parts, int count, off_t offset) {
    return read_by<which>(offset, descriptor, parts, count, offset);
}

template <Posix which> ssize_t write_parts_at(int descriptor, const iovec* parts, int count, off_t offset) {
    return write_by<which>(offset, descriptor, parts, count, offset);
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

template <Posix which, class Stat> int on_descriptor(int descriptor, Stat* into) {
    return watched([&] { return real<int (*)(int, Stat*)>(which)(descriptor, into); },
                   [&](int, uint64_t took) { descriptor_asked(descriptor, took); });
}

/// The form that programs built before glibc 2.33 call; `version` is the version of the structure.
template <Posix which, class Stat> int on_versioned(int version, int descriptor, Stat* into) {
    return watched([&] { return real<int (*)(int, int, Stat*)>(which)(version, descriptor, into); },
                   [&](int, uint64_t took) { descriptor_asked(descriptor, took); });
}

DIR* w_opendir(const char* path) {
    return watched([&] { return real<DIR* (*)(const char*)>(Posix::opendir)(path); },
                   [&](DIR*, uint64_t took) { path_asked(took); });
}

int w_flock(int descriptor, int operation) {
    return watched([&] { return real<int (*)(int, int)>(Posix::flock)(descriptor, operation); },
                   [&](int, uint64_t took) { descriptor_locked(descriptor, took); });
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
constexpr auto w_preadv = &read_parts_at<Posix::preadv>;
constexpr auto w_preadv64 = &read_parts_at<Posix::preadv64>;
constexpr auto w_pwritev = &write_parts_at<Posix::pwritev>;
constexpr auto w_pwritev64 = &write_parts_at<Posix::pwritev64>;
constexpr auto w_fstat = &on_descriptor<Posix::fstat, struct stat>;
constexpr auto w_fstat64 = &on_descriptor<Posix::fstat64, struct stat64>;
constexpr auto w_statx = &on_path<Posix::statx, int, const char*, int, unsigned, struct statx*>;
// NOLINTBEGIN(bugprone-reserved-identifier): libc has called them so
constexpr auto w___xstat = &on_path<Posix::__xstat, int, const char*, struct stat*>;
constexpr auto w___xstat64 = &on_path<Posix::__xstat64, int, const char*, struct stat64*>;
constexpr auto w___lxstat = &on_path<Posix::__lxstat, int, const char*, struct stat*>;
constexpr auto w___lxstat64 = &on_path<Posix::__lxstat64, int, const char*, struct stat64*>;
constexpr auto w___fxstat = &on_versioned<Posix::__fxstat, struct stat>;
constexpr auto w___fxstat64 = &on_versioned<Posix::__fxstat64, struct stat64>;
// NOLINTEND(bugprone-reserved-identifier)
constexpr auto w_fcntl = &control<Posix::fcntl>;
constexpr auto w_fcntl64 = &control<Posix::fcntl64>;

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
