#include "files/node_local/links.hpp"

#include "files/direct.hpp"

#include <cstdio>
#include <cstring>

namespace mpiric::files::node_local {
namespace {

int head_of(const char* path) noexcept {
    const char* slash = std::strrchr(path, '/');
    return slash ? int(slash + 1 - path) : 0;
}

bool fits(int length) noexcept { return length > 0 && length < PATH_MAX; }

}  // namespace

const char* Link::id() const noexcept { return target + head_of(target); }

bool read_link(int directory, const char* path, Link& link) noexcept {
    const long length = direct(SYS_readlinkat, directory, path, link.target, sizeof link.target - 1);
    if (length <= 0)
        return false;
    link.target[length] = '\0';
    const char* room = std::strstr(link.target, "/mpiric-local-");
    return room && std::strchr(room + 1, '/') == link.id() - 1;
}

bool write_beside(char (&to)[PATH_MAX], const char* path, const char* what, const char* id) noexcept {
    return fits(std::snprintf(to, sizeof to, "%.*s%s%s", head_of(path), path, what, id));
}

bool write_absolute(char (&to)[PATH_MAX], int directory, const char* path) noexcept {
    char from[PATH_MAX] = "";
    if (*path == '/')
        return fits(std::snprintf(to, sizeof to, "%s", path));
    if (directory == AT_FDCWD) {
        if (direct(SYS_getcwd, from, sizeof from) <= 0)
            return false;
    } else {
        char name[32];
        std::snprintf(name, sizeof name, "/proc/self/fd/%d", directory);
        const long length = direct(SYS_readlinkat, AT_FDCWD, name, from, sizeof from - 1);
        if (length <= 0)
            return false;
        from[length] = '\0';
    }
    return *from == '/' && fits(std::snprintf(to, sizeof to, "%s/%s", from, path));
}

}  // namespace mpiric::files::node_local
