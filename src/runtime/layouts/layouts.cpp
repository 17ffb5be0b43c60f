// A file gets its layout under a temporary name and its final name by link(2), so that no other rank ever
// sees it without a layout. If the file exists already, or two ranks create it at once, the first one stays.
#include "layouts/layouts.hpp"

#include "base/say.hpp"
#include "base/text.hpp"
#include "posix/posix.hpp"
#include "profile/context.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace mpiric::layouts {
namespace {

constexpr int delay_create = O_NOCTTY | FASYNC;  // O_LOV_DELAY_CREATE of lustre_user.h
constexpr uint16_t anywhere = 0xFFFF;
constexpr int most_extents = 8;

// lov_user_md_v1, lov_comp_md_v1 and lov_comp_md_entry_v1 of lustre_user.h.
struct Plain {
    uint32_t magic = 0x0BD10BD0, pattern = 1;
    uint64_t object = 0, sequence = 0;
    uint32_t stripe_bytes = 0;
    uint16_t stripes = 0, first = anywhere;
};
struct Composite {
    uint32_t magic = 0x0BD60BD0, bytes = 0, generation = 0;
    uint16_t flags = 0, entries = 0, mirrors = 0, padding[3] = {};
    uint64_t reserved = 0;
};
struct Entry {
    uint32_t id = 0, flags = 0;
    uint64_t start = 0, end = 0;
    uint32_t offset = 0, bytes = 0, generation = 0, padding[1] = {};
    uint64_t reserved = 0;
};
static_assert(sizeof(Plain) == 32 && sizeof(Composite) == 32 && sizeof(Entry) == 48);

struct Attribute {
    char value[sizeof(Composite) + most_extents * (sizeof(Entry) + sizeof(Plain))];
    size_t bytes = 0;
    void add(const void* part, size_t size) noexcept {
        std::memcpy(value + bytes, part, size);
        bytes += size;
    }
};

/// `STRIPESxBYTES[@END],…[ over]`, stripes -1 for all; 0 extents when it is none.
int parse(std::string_view words, Plain (&extents)[most_extents], uint64_t (&ends)[most_extents]) noexcept {
    std::string_view text = cut(words, ' ');
    const uint32_t pattern = words == "over" ? 0x201 : 1;
    int count = 0;
    for (; !text.empty(); ++count) {
        std::string_view extent = cut(text, ',');
        const std::string_view stripes = cut(extent, 'x'), size = cut(extent, '@');
        int32_t number = 0;
        ends[count < most_extents ? count : 0] = UINT64_MAX;
        if (count == most_extents || !read_number(stripes, number) || number < -1 ||
            !read_number(size, extents[count].stripe_bytes) ||
            (!extent.empty() && !read_number(extent, ends[count])))
            return 0;
        extents[count].stripes = uint16_t(number);
        extents[count].pattern = pattern;
    }
    return count;
}

Attribute attribute(std::string_view words) noexcept {
    Plain extents[most_extents];
    uint64_t ends[most_extents];
    const int count = parse(words, extents, ends);
    Attribute packed;
    if (count == 1)
        packed.add(&extents[0], sizeof extents[0]);
    if (count < 2)
        return packed;
    Composite head;
    head.entries = uint16_t(count);
    head.bytes = uint32_t(sizeof head + size_t(count) * (sizeof(Entry) + sizeof(Plain)));
    packed.add(&head, sizeof head);
    const size_t parts = sizeof head + size_t(count) * sizeof(Entry);
    for (int at = 0; at < count; ++at) {
        Entry entry;
        entry.start = at ? ends[at - 1] : 0;
        entry.end = ends[at];
        entry.offset = uint32_t(parts + size_t(at) * sizeof(Plain));
        entry.bytes = sizeof(Plain);
        packed.add(&entry, sizeof entry);
    }
    packed.add(extents, size_t(count) * sizeof(Plain));
    return packed;
}

/// A system call past the names of libc, which lead to the runtime.
template <class... Arguments> long direct(long number, Arguments... arguments) noexcept {
    const auto call = reinterpret_cast<long (*)(long, ...)>(libc_posix(uint32_t(Posix::syscall)));
    return call(number, arguments...);
}

/// Whether a name is taken, by a link that leads nowhere too. It asks no server for a file's size.
bool is_taken(int directory, const char* path) noexcept {
    char target;
    return direct(SYS_readlinkat, directory, path, &target, 1) >= 0 || errno == EINVAL;
}

/// Length of the directory that a path names, its slash included.
int head_of(const char* path) noexcept {
    const char* slash = std::strrchr(path, '/');
    return slash ? int(slash + 1 - path) : 0;
}

/// The file system of the directory that a path names, 0 where it cannot be told.
dev_t device_of(int directory, const char* path) noexcept {
    char name[PATH_MAX] = ".";
    if (const int head = head_of(path); head && head < int(sizeof name))
        std::snprintf(name, sizeof name, "%.*s", head, path);
    struct stat facts{};
    return direct(SYS_newfstatat, directory, name, &facts, 0) == 0 ? facts.st_dev : 0;
}

bool is_refused(int directory, const char* path, std::string_view words) noexcept {
    return state.refused.has_any() &&
           state.refused.has(device_of(directory, path), words, runtime.options.file_layouts);
}

/// Gives a file that has no layout yet the one of its rule.
bool set_layout(int file, const Attribute& layout, int directory, const char* path,
                std::string_view words) noexcept {
    // The open that makes a file may whatever its mode; others only if the owner may.
    struct stat facts{};
    const bool again = fstat(file, &facts) == 0 && (facts.st_mode & 0600) == 0600;
    if (again && fsetxattr(file, "lustre.lov", layout.value, layout.bytes, 0) == 0)
        return true;
    if (again && RefusedLayouts::lasts(errno))
        state.refused.add(device_of(directory, path), words, runtime.options.file_layouts);
    say_once("files keep the layout of their directory: theirs cannot be set", path);
    return false;
}

/// A path in the file's directory that no other process of the job uses.
bool write_name(char (&name)[PATH_MAX], const char* path) noexcept {
    const int head = head_of(path);
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    const int length = std::snprintf(name, sizeof name, "%.*s.mpiric-%s-%d-%u", head, path, host,
                                     int(getpid()), state.made.fetch_add(1));
    return length > 0 && length < int(sizeof name);
}

}  // namespace

bool make_laid_out(int directory, const char* path, mode_t mode) noexcept {
    if (!path)
        return false;
    const std::string_view words = words_for(path, runtime.options.file_layouts);
    if (words.empty())
        return false;
    const int before = errno;
    if (is_refused(directory, path, words)) {
        errno = before;
        return false;
    }
    bool made_here = false;
    char name[PATH_MAX];
    if (!is_taken(directory, path) && write_name(name, path)) {
        const Attribute layout = attribute(words);
        constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | delay_create;
        const int file = layout.bytes ? int(direct(SYS_openat, directory, name, flags, mode)) : -1;
        if (file >= 0) {
            if (set_layout(file, layout, directory, path, words))
                made_here = direct(SYS_linkat, directory, name, directory, path, 0) == 0;
            direct(SYS_unlinkat, directory, name, 0);
            direct(SYS_close, file);
        }
    }
    errno = before;
    return made_here;
}

}  // namespace mpiric::layouts
