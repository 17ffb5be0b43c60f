// Where each thread of this process really is.
#include "system/process.hpp"

#include "system/text.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {
namespace {

constexpr int most_threads = 256;  // more would crowd out other facts

struct DirectoryEntry {
    uint64_t inode, offset;
    unsigned short length;
    unsigned char type;
    char name[1];
};

/// Field of /proc/<pid>/stat by its number in proc(5), of those after the name, which may hold anything.
uint64_t stat_field(const char* text, int number) noexcept {
    const char* at = std::strrchr(text, ')');
    for (int field = 2; at && field < number; ++field)
        at = std::strchr(at + 1, ' ');
    return at ? std::strtoull(at + 1, nullptr, 10) : 0;
}

void add_thread(AddFact add_fact, const char* id) noexcept {
    char path[64], stat[1024], name[32], cpus[256], key[32], value[400];
    std::snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
    if (!read_file(path, stat, sizeof stat))
        return;
    std::snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", id);
    const size_t length = read_file(path, name, sizeof name);
    if (length)
        name[length - 1] = '\0';
    unsigned long mask[1024] = {};
    const long bytes = syscall(SYS_sched_getaffinity, std::strtol(id, nullptr, 10), sizeof mask, mask);
    render_cpus(mask, bytes > 0 ? size_t(bytes) * 8 : 0, cpus, sizeof cpus);
    std::snprintf(key, sizeof key, "thread.%.20s", id);
    std::snprintf(value, sizeof value, "%s cpu=%llu affinity=%s user_ticks=%llu system_ticks=%llu", name,
                  static_cast<unsigned long long>(stat_field(stat, 39)), cpus,
                  static_cast<unsigned long long>(stat_field(stat, 14)),
                  static_cast<unsigned long long>(stat_field(stat, 15)));
    add_fact(key, value);
}

}  // namespace

void add_threads(AddFact add_fact) noexcept {
    const int directory =
        int(syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory < 0)
        return;
    alignas(DirectoryEntry) char entries[8192];
    int added = 0;
    for (long bytes;
         (bytes = syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0 && added < most_threads;)
        for (long at = 0; at < bytes && added < most_threads;) {
            const auto* entry = reinterpret_cast<const DirectoryEntry*>(entries + at);
            if (std::isdigit(static_cast<unsigned char>(entry->name[0]))) {
                add_thread(add_fact, entry->name);
                ++added;
            }
            at += entry->length;
        }
    syscall(SYS_close, directory);
}

}  // namespace mpiric::system
