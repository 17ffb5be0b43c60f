// Rules and files as text. Files are read by system calls, as the names of libc may lead to our wrappers.
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric {

std::string_view cut(std::string_view& text, char end) noexcept {
    const std::string_view head = text.substr(0, text.find(end));
    text.remove_prefix(std::min(text.size(), head.size() + 1));
    return head;
}

std::string_view words_for(const char* path, std::string_view rules) noexcept {
    const char* slash = std::strrchr(path, '/');
    const char* name = slash ? slash + 1 : path;
    while (!rules.empty()) {
        std::string_view rule = cut(rules, ';');
        const std::string_view pattern = cut(rule, ' ');
        char terminated[256];
        if (pattern.empty() || pattern.size() >= sizeof terminated)
            continue;
        *std::copy(pattern.begin(), pattern.end(), terminated) = '\0';
        if (fnmatch(terminated, name, 0) == 0)
            return rule;
    }
    return {};
}

bool read_file(const char* path, std::string& text) {
    // System calls: the names of libc may lead to our own wrappers.
    const int file = int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (file < 0)
        return false;
    char part[1 << 16];
    long got = 0;
    while ((got = syscall(SYS_read, file, part, sizeof part)) > 0)
        text.append(part, size_t(got));
    const int error = errno;
    syscall(SYS_close, file);
    errno = error;
    return got == 0;
}

}  // namespace mpiric
