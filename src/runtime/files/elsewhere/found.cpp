#include "files/elsewhere/found.hpp"

#include "files/direct.hpp"

#include <cerrno>
#include <cstdio>

namespace mpiric::files::elsewhere {
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

/// Whether the subdirectory of a file is there now; ranks make it at once, and one of them first.
bool make_subdirectory(int directory, const Place& place) noexcept {
    char path[PATH_MAX];
    place.write_top(path);
    if (direct(SYS_mkdirat, directory, path, 0777) == 0)
        write_manifest(directory, path);
    else if (errno != EEXIST)
        return false;
    place.write_subdirectory(path);
    return direct(SYS_mkdirat, directory, path, 0777) == 0 || errno == EEXIST;
}

}  // namespace

void spread_by(const char* wanted) noexcept { rules = wanted; }

Found::Found(int directory, const char* path, Use use) noexcept : directory_(directory), place_(path, rules) {
    if (!place_.is_spread())
        return;
    const int error = errno;
    spread_ = use == Use::finds ? is_there(directory, place_.spread()) : !is_taken(directory, place_.own());
    errno = error;
}

bool Found::make_room() noexcept {
    if (!spread_)
        return false;
    spread_ = make_subdirectory(directory_, place_);
    return true;
}

}  // namespace mpiric::files::elsewhere
