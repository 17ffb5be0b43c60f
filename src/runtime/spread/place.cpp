#include "spread/place.hpp"

#include "base/rules.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace mpiric::spread {
namespace {

/// FNV-1a: the same on every rank and in every run.
uint32_t hash_of(const char* name) noexcept {
    uint32_t hash = 2166136261;
    for (; *name; ++name)
        hash = (hash ^ uint8_t(*name)) * 16777619;
    return hash;
}

/// Whether the program itself names one of the subdirectories.
bool leads_into_spread(std::string_view head) noexcept {
    const std::string_view name(spread_directory);
    for (size_t at = head.find(name); at != std::string_view::npos; at = head.find(name, at + 1)) {
        const bool begins = at == 0 || head[at - 1] == '/';
        if (begins && head.substr(at + name.size()).starts_with('/'))
            return true;
    }
    return false;
}

}  // namespace

Place::Place(const char* path, std::string_view rules) noexcept : own_(path) {
    spread_[0] = '\0';
    if (!path || !*path)
        return;
    const char* slash = std::strrchr(path, '/');
    const char* name = slash ? slash + 1 : path;
    const std::string_view words = *name ? words_for(path, rules) : std::string_view();
    unsigned count = 0;
    const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), count);
    if (words.empty() || error != std::errc() || end != words.data() + words.size() || count == 0 ||
        count > most_subdirectories)
        return;
    head_ = int(name - path);
    if (leads_into_spread({path, size_t(head_)}))
        return;
    const int length = std::snprintf(spread_, sizeof spread_, "%.*s%s/%02u/%s", head_, path, spread_directory,
                                     hash_of(name) % count, name);
    if (length < 0 || length >= int(sizeof spread_))
        spread_[0] = '\0';
}

void Place::write_top(char (&to)[PATH_MAX]) const noexcept {
    std::snprintf(to, sizeof to, "%.*s%s", head_, spread_, spread_directory);
}

void Place::write_subdirectory(char (&to)[PATH_MAX]) const noexcept {
    std::snprintf(to, sizeof to, "%.*s", int(std::strrchr(spread_, '/') - spread_), spread_);
}

}  // namespace mpiric::spread
