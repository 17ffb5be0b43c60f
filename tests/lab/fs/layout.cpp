#include "layout.hpp"

#include <cerrno>
#include <cstring>

namespace lab {
namespace {

constexpr uint32_t v1 = 0x0BD10BD0, v3 = 0x0BD30BD0, composite = 0x0BD60BD0;
constexpr uint32_t unit = 65536, most_stripes = 2000, pool_bytes = 16;
constexpr uint16_t every = 0xffff;

struct [[gnu::packed]] Plain {
    uint32_t magic, pattern;
    uint64_t id, sequence;
    uint32_t stripe_bytes;
    uint16_t count, first;
};
struct [[gnu::packed]] Object {
    uint64_t id, sequence;
    uint32_t generation, target;
};
struct [[gnu::packed]] Composite {
    uint32_t magic, bytes, generation;
    uint16_t flags, entries, mirrors, padding[3];
    uint64_t more_padding;
};
struct [[gnu::packed]] Entry {
    uint32_t id, flags;
    uint64_t start, end;
    uint32_t offset, bytes, generation;
    uint64_t time;
    uint32_t padding;
};
static_assert(sizeof(Plain) == 32 && sizeof(Object) == 24 && sizeof(Composite) == 32 && sizeof(Entry) == 48);

template <class Struct> bool read(const std::string& from, size_t at, Struct& into) {
    if (at > from.size() || from.size() - at < sizeof into)
        return false;
    std::memcpy(&into, from.data() + at, sizeof into);
    return true;
}

template <class Struct> void append(std::string& to, const Struct& from) {
    to.append(reinterpret_cast<const char*>(&from), sizeof from);
}

int parse_plain(const std::string& value, Extent& extent) {
    Plain head{};
    if (!read(value, 0, head) || (head.magic != v1 && head.magic != v3))
        return EINVAL;
    if (head.stripe_bytes % unit || (head.count != every && head.count > most_stripes))
        return EINVAL;
    extent.stripe_bytes = head.stripe_bytes ? head.stripe_bytes : 1 << 20;
    extent.count = head.count ? head.count : 1;
    extent.pattern = head.pattern ? head.pattern : 1;
    size_t at = sizeof head;
    if (head.magic == v3) {
        if (value.size() < at + pool_bytes)
            return EINVAL;
        extent.pool = value.substr(at, pool_bytes).c_str();
        at += pool_bytes;
    }
    for (Object object{}; read(value, at, object); at += sizeof object)
        extent.targets.push_back(object.target);
    return 0;
}

std::string pack_plain(const Extent& extent) {
    std::string value;
    const auto first = uint16_t(extent.targets.empty() ? every : 0);
    append(value, Plain{extent.pool.empty() ? v1 : v3, extent.pattern, 0, 0, extent.stripe_bytes,
                        extent.count, first});
    if (!extent.pool.empty()) {
        std::string name = extent.pool;
        name.resize(pool_bytes);
        value += name;
    }
    for (const uint32_t target : extent.targets)
        append(value, Object{0, 0, 0, target});
    return value;
}

}  // namespace

int Layout::objects() const {
    size_t count = 0;
    for (const Extent& extent : extents)
        count += extent.targets.size();
    return int(count);
}

int parse(const std::string& value, Layout& layout) {
    Composite head{};
    layout.extents.clear();
    if (!read(value, 0, head) || head.magic != composite) {
        layout.extents.emplace_back();
        return parse_plain(value, layout.extents.back());
    }
    uint64_t end = 0;
    for (int index = 0; index < head.entries; ++index) {
        Entry entry{};
        if (!read(value, sizeof head + size_t(index) * sizeof entry, entry) || entry.start != end ||
            entry.end <= end || uint64_t(entry.offset) + entry.bytes > value.size())
            return EINVAL;
        Extent extent;
        if (const int error = parse_plain(value.substr(entry.offset, entry.bytes), extent))
            return error;
        extent.end = end = entry.end;
        layout.extents.push_back(extent);
    }
    return layout.extents.empty() ? EINVAL : 0;
}

std::string pack(const Layout& layout) {
    if (layout.extents.size() == 1 && layout.extents.front().end == UINT64_MAX)
        return pack_plain(layout.extents.front());
    std::string entries, parts;
    uint64_t start = 0;
    const auto base = uint32_t(sizeof(Composite) + layout.extents.size() * sizeof(Entry));
    for (const Extent& extent : layout.extents) {
        const std::string part = pack_plain(extent);
        append(entries, Entry{uint32_t(entries.size() / sizeof(Entry)) + 1, 0, start, extent.end,
                              base + uint32_t(parts.size()), uint32_t(part.size()), 0, 0, 0});
        parts += part;
        start = extent.end;
    }
    std::string value;
    append(
        value,
        Composite{composite, base + uint32_t(parts.size()), 0, 0, uint16_t(layout.extents.size()), 0, {}, 0});
    return value + entries + parts;
}

}  // namespace lab
