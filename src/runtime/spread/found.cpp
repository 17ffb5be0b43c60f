#include "spread/found.hpp"

#include "posix/direct.hpp"

#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::spread {
namespace {

constinit const char* rules = "";

void write_manifest(int directory, const char* top) noexcept {
    char path[PATH_MAX + 16], text[512];
    std::snprintf(path, sizeof path, "%s/%s", top, manifest_name);
    const int length = std::snprintf(text, sizeof text, "mpiric spread 1\n%s\n", rules);
    const int file = direct_open(directory, path, O_CREAT | O_EXCL | O_WRONLY, 0666);
    if (file < 0)
        return;
    const size_t bytes = length < int(sizeof text) ? size_t(length) : sizeof text - 1;
    [[maybe_unused]] const long put = direct(SYS_write, file, text, bytes);
    direct_close(file);
}

/// Returns whether a path is a directory of this user's own, not a link: others may write to the program's
/// directory.
bool is_own_directory(int directory, const char* path) noexcept {
    struct stat facts{};
    return direct(SYS_newfstatat, directory, path, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
}

/// Returns whether the subdirectories of a file are this user's own.
bool is_own_place(int directory, const Place& place) noexcept {
    char path[PATH_MAX];
    place.write_top(path);
    if (!is_own_directory(directory, path))
        return false;
    place.write_subdirectory(path);
    return is_own_directory(directory, path);
}

/// Whether the subdirectory of a file is there now; ranks make it at once, and one of them first.
bool make_subdirectory(int directory, const Place& place) noexcept {
    char path[PATH_MAX];
    place.write_top(path);
    const bool is_new = direct(SYS_mkdirat, directory, path, 0777) == 0;
    if (!is_own_directory(directory, path))
        return false;
    if (is_new)
        write_manifest(directory, path);
    place.write_subdirectory(path);
    direct(SYS_mkdirat, directory, path, 0777);
    return is_own_directory(directory, path);
}

/// Returns whether a file may be made among the spread ones: not where another user has put their place.
bool is_free_place(int directory, const Place& place) noexcept {
    char path[PATH_MAX];
    place.write_subdirectory(path);
    struct stat facts{};
    if (direct(SYS_newfstatat, directory, path, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    return is_own_place(directory, place);
}

}  // namespace

void spread_by(const char* wanted) noexcept { rules = wanted; }

Found::Found(int directory, const char* path, Use use) noexcept : directory_(directory), place_(path, rules) {
    if (!place_.is_spread())
        return;
    const int error = errno;
    spread_ = use == Use::finds ? is_there(directory, place_.spread()) && is_own_place(directory, place_)
                                : !is_taken(directory, place_.own()) && is_free_place(directory, place_);
    errno = error;
}

bool Found::make_room() noexcept {
    if (!spread_)
        return false;
    spread_ = make_subdirectory(directory_, place_);
    return true;
}

}  // namespace mpiric::spread
