#include "inputs/inputs.hpp"
#include "posix/posix.hpp"
#include "spread/found.hpp"
#include "spread/spread.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <sys/time.h>
#include <utime.h>

namespace mpiric::spread {
namespace {

constinit bool begun = false;
constinit void* behind[posix_count];  ///< what stood there before

template <class Pointer> Pointer libc(Posix which) noexcept {
    return reinterpret_cast<Pointer>(behind[static_cast<uint32_t>(which)]);
}

constexpr Found::Use use_of(int flags) noexcept {
    return flags & O_CREAT ? Found::Use::makes : Found::Use::finds;
}

bool has_failed(int result) noexcept { return result < 0; }
bool has_failed(const FILE* stream) noexcept { return !stream; }

/// A call that may make the file, repeated where only its subdirectory was missing.
template <class Call> auto made_at(Found& found, Call&& call) {
    auto result = call(found.path());
    if (has_failed(result) && errno == ENOENT && found.make_room())
        result = call(found.path());
    return result;
}

/// Opens a file, or the node's copy of a broadcast input, where it is.
template <class Open> int open_by(int directory, Found& found, int flags, Open&& open) {
    const bool reads = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY;
    char copy[32];
    return made_at(found, [&](const char* path) {
        return open(reads ? inputs::path_for(directory, path, copy) : path);
    });
}

#define MPIRIC_MODE(last)                                                                                    \
    va_list arguments;                                                                                       \
    va_start(arguments, last);                                                                               \
    const mode_t mode = va_arg(arguments, mode_t);                                                           \
    va_end(arguments)

template <Posix which> int e_open(const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    Found found(AT_FDCWD, path, use_of(flags));
    return open_by(AT_FDCWD, found, flags, [&](const char* at) {
        return libc<int (*)(const char*, int, ...)>(which)(at, flags, mode);
    });
}
template <Posix which> int e_openat(int directory, const char* path, int flags, ...) {
    MPIRIC_MODE(flags);
    Found found(directory, path, use_of(flags));
    return open_by(directory, found, flags, [&](const char* at) {
        return libc<int (*)(int, const char*, int, ...)>(which)(directory, at, flags, mode);
    });
}
#undef MPIRIC_MODE
template <Posix which> int e_creat(const char* path, mode_t mode) {
    Found found(AT_FDCWD, path, Found::Use::makes);
    return open_by(AT_FDCWD, found, O_CREAT | O_WRONLY | O_TRUNC,
                   [&](const char* at) { return libc<int (*)(const char*, mode_t)>(which)(at, mode); });
}
template <Posix which, class... More> FILE* e_fopen(const char* path, const char* mode, More... more) {
    Found found(AT_FDCWD, path, mode && *mode == 'r' ? Found::Use::finds : Found::Use::makes);
    const bool reads = mode && *mode == 'r' && !std::strchr(mode, '+');
    char copy[32];
    return made_at(found, [&](const char* path_now) {
        const char* at = reads ? inputs::path_for(AT_FDCWD, path_now, copy) : path_now;
        return libc<FILE* (*)(const char*, const char*, More...)>(which)(at, mode, more...);
    });
}

/// Calls on a path, on one below a directory, and as in programs that were built before glibc 2.33.
template <Posix which, class... More> int on_path(const char* path, More... more) {
    const Found found(AT_FDCWD, path);
    return libc<int (*)(const char*, More...)>(which)(found.path(), more...);
}
template <Posix which, class... More> int on_path_at(int directory, const char* path, More... more) {
    const Found found(directory, path);
    return libc<int (*)(int, const char*, More...)>(which)(directory, found.path(), more...);
}
template <Posix which, class Stat> int on_versioned(int version, const char* path, Stat* into) {
    const Found found(AT_FDCWD, path);
    return libc<int (*)(int, const char*, Stat*)>(which)(version, found.path(), into);
}
template <Posix which>
int on_versioned_at(int version, int directory, const char* path, struct stat* into, int flags) {
    const Found found(directory, path);
    return libc<int (*)(int, int, const char*, struct stat*, int)>(which)(version, directory, found.path(),
                                                                          into, flags);
}

/// Calls that give a file another name: that may fit a rule, or fit none any more.
template <Posix which> int onto_path(const char* from, const char* onto) {
    const Found source(AT_FDCWD, from);
    Found target(AT_FDCWD, onto, Found::Use::makes);
    return made_at(target, [&](const char* at) {
        return libc<int (*)(const char*, const char*)>(which)(source.path(), at);
    });
}
template <Posix which, class... More>
int onto_path_at(int from_in, const char* from, int onto_in, const char* onto, More... more) {
    const Found source(from_in, from);
    Found target(onto_in, onto, Found::Use::makes);
    return made_at(target, [&](const char* at) {
        return libc<int (*)(int, const char*, int, const char*, More...)>(which)(from_in, source.path(),
                                                                                 onto_in, at, more...);
    });
}

}  // namespace

bool wanted(const Options& options) noexcept { return *options.subdirectories || inputs::wanted(options); }

void begin(const Options& options) noexcept {
    if (begun || !wanted(options))
        return;
    begun = true;
    spread_by(options.subdirectories);
    for (uint32_t at = 0; at < posix_count; ++at)
        if (void* call = call_elsewhere(at)) {
            behind[at] = libc_posix(at);
            set_libc_posix(at, call);
        }
}

void* call_elsewhere(unsigned at) noexcept {
#define MPIRIC_CALL(name, ...)                                                                               \
    case Posix::name:                                                                                        \
        return reinterpret_cast<void*>(__VA_ARGS__)
    switch (Posix(at)) {
        MPIRIC_CALL(open, &e_open<Posix::open>);
        MPIRIC_CALL(open64, &e_open<Posix::open64>);
        MPIRIC_CALL(openat, &e_openat<Posix::openat>);
        MPIRIC_CALL(openat64, &e_openat<Posix::openat64>);
        MPIRIC_CALL(creat, &e_creat<Posix::creat>);
        MPIRIC_CALL(creat64, &e_creat<Posix::creat64>);
        MPIRIC_CALL(fopen, &e_fopen<Posix::fopen>);
        MPIRIC_CALL(fopen64, &e_fopen<Posix::fopen64>);
        MPIRIC_CALL(freopen, &e_fopen<Posix::freopen, FILE*>);
        MPIRIC_CALL(freopen64, &e_fopen<Posix::freopen64, FILE*>);
        MPIRIC_CALL(unlink, &on_path<Posix::unlink>);
        MPIRIC_CALL(remove, &on_path<Posix::remove>);
        MPIRIC_CALL(access, &on_path<Posix::access, int>);
        MPIRIC_CALL(stat, &on_path<Posix::stat, struct stat*>);
        MPIRIC_CALL(stat64, &on_path<Posix::stat64, struct stat64*>);
        MPIRIC_CALL(lstat, &on_path<Posix::lstat, struct stat*>);
        MPIRIC_CALL(lstat64, &on_path<Posix::lstat64, struct stat64*>);
        MPIRIC_CALL(truncate, &on_path<Posix::truncate, off_t>);
        MPIRIC_CALL(truncate64, &on_path<Posix::truncate64, off_t>);
        MPIRIC_CALL(utime, &on_path<Posix::utime, const utimbuf*>);
        MPIRIC_CALL(utimes, &on_path<Posix::utimes, const timeval*>);
        MPIRIC_CALL(chmod, &on_path<Posix::chmod, mode_t>);
        MPIRIC_CALL(chown, &on_path<Posix::chown, uid_t, gid_t>);
        MPIRIC_CALL(faccessat, &on_path_at<Posix::faccessat, int, int>);
        MPIRIC_CALL(fchmodat, &on_path_at<Posix::fchmodat, mode_t, int>);
        MPIRIC_CALL(unlinkat, &on_path_at<Posix::unlinkat, int>);
        MPIRIC_CALL(fstatat, &on_path_at<Posix::fstatat, struct stat*, int>);
        MPIRIC_CALL(fstatat64, &on_path_at<Posix::fstatat64, struct stat64*, int>);
        MPIRIC_CALL(utimensat, &on_path_at<Posix::utimensat, const timespec*, int>);
        MPIRIC_CALL(statx, &on_path_at<Posix::statx, int, unsigned, struct statx*>);
        MPIRIC_CALL(__xstat, &on_versioned<Posix::__xstat, struct stat>);
        MPIRIC_CALL(__xstat64, &on_versioned<Posix::__xstat64, struct stat64>);
        MPIRIC_CALL(__lxstat, &on_versioned<Posix::__lxstat, struct stat>);
        MPIRIC_CALL(__lxstat64, &on_versioned<Posix::__lxstat64, struct stat64>);
        MPIRIC_CALL(__fxstatat, &on_versioned_at<Posix::__fxstatat>);
        MPIRIC_CALL(__fxstatat64, &on_versioned_at<Posix::__fxstatat64>);
        MPIRIC_CALL(rename, &onto_path<Posix::rename>);
        MPIRIC_CALL(link, &onto_path<Posix::link>);
        MPIRIC_CALL(renameat, &onto_path_at<Posix::renameat>);
        MPIRIC_CALL(renameat2, &onto_path_at<Posix::renameat2, unsigned>);
        MPIRIC_CALL(linkat, &onto_path_at<Posix::linkat, int>);
    default:
        return nullptr;
    }
#undef MPIRIC_CALL
}

}  // namespace mpiric::spread
