#include "base/rules.hpp"

#include <algorithm>
#include <cstring>
#include <fnmatch.h>

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

}  // namespace mpiric
