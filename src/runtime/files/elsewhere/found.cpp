#include "files/elsewhere/found.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::files::elsewhere {
namespace {

constinit const char* rules = "";

// System calls: names of libc lead here.
bool is_there(int directory, const char* path) noexcept {
    return syscall(SYS_faccessat, directory, path, F_OK) == 0;
}

void write_manifest(int directory, const char* top) noexcept {
    char path[PATH_MAX + 16], text[512];
    std::snprintf(path, sizeof path, "%s/%s", top, manifest_name);
    const int length = std::snprintf(text, sizeof text, "mpiric spread 1\n%s\n", rules);
    const int file = int(syscall(SYS_openat, directory, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
    if (file < 0)
        return;
    const size_t bytes = length < int(sizeof text) ? size_t(length) : sizeof text - 1;
    [[maybe_unused]] const long put = syscall(SYS_write, file, text, bytes);
    syscall(SYS_close, file);
}

/// Whether the subdirectory of a file is there now; ranks make it at once, and one of them first.
bool make_subdirectory(int directory, const Place& place) noexcept {
    char path[PATH_MAX];
    place.write_top(path);
    if (syscall(SYS_mkdirat, directory, path, 0777) == 0)
        write_manifest(directory, path);
    else if (errno != EEXIST)
        return false;
    place.write_subdirectory(path);
    return syscall(SYS_mkdirat, directory, path, 0777) == 0 || errno == EEXIST;
}

}  // namespace

void spread_by(const char* wanted) noexcept { rules = wanted; }

Found::Found(int directory, const char* path, Use use) noexcept : place_(path, rules) {
    if (!place_.is_spread())
        return;
    const int error = errno;
    if (use == Use::finds)
        spread_ = is_there(directory, place_.spread());
    else
        spread_ = !is_there(directory, place_.own()) &&
                  (is_there(directory, place_.spread()) || make_subdirectory(directory, place_));
    errno = error;
}

}  // namespace mpiric::files::elsewhere
