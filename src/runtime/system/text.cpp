// Reads small files by system calls of our own, as the names of libc may lead to our wrappers.
#include "system/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric::system {

size_t read_file(const char* path, char* to, size_t room) noexcept {
    to[0] = '\0';
    // System calls of our own: the functions of these names may be our wrappers.
    const int file = int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    if (file < 0)
        return 0;
    size_t length = 0;
    while (length < room - 1) {
        const long got = syscall(SYS_read, file, to + length, room - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += size_t(got);
    }
    syscall(SYS_close, file);
    to[length] = '\0';
    return length;
}

namespace {

/// The rest of the first line that begins with `label`, null when none does.
const char* after(const char* text, const char* label) noexcept {
    const size_t length = std::strlen(label);
    for (const char* line = text; line; line = std::strchr(line, '\n')) {
        line += *line == '\n';
        if (std::strncmp(line, label, length) == 0)
            return line + length;
    }
    return nullptr;
}

}  // namespace

uint64_t number_after(const char* text, const char* label) noexcept {
    const char* number = after(text, label);
    return number ? std::strtoull(number, nullptr, 10) : 0;
}

size_t text_after(const char* text, const char* label, char* to, size_t room) noexcept {
    to[0] = '\0';
    const char* begin = after(text, label);
    if (!begin)
        return 0;
    begin += std::strspn(begin, " \t:");
    size_t bytes = std::strcspn(begin, "\n");
    while (bytes > 0 && std::strchr(" \t", begin[bytes - 1]))
        --bytes;
    bytes = std::min(bytes, room - 1);
    std::memcpy(to, begin, bytes);
    to[bytes] = '\0';
    return bytes;
}

bool next_range(const char*& list, Range& range) noexcept {
    char* end = nullptr;
    range.first = range.last = std::strtoull(list, &end, 10);
    if (end == list)
        return false;
    if (*end == '-')
        range.last = std::strtoull(end + 1, &end, 10);
    list = *end == ',' ? end + 1 : end;
    return true;
}

void render_cpus(const unsigned long* mask, size_t bits, char* to, size_t room) noexcept {
    constexpr size_t word = 8 * sizeof(unsigned long);
    auto has = [&](size_t cpu) { return cpu < bits && (mask[cpu / word] >> (cpu % word) & 1); };
    size_t used = 0;
    to[0] = '\0';
    for (size_t cpu = 0; cpu < bits; ++cpu) {
        if (!has(cpu))
            continue;
        size_t last = cpu;
        while (has(last + 1))
            ++last;
        const char* comma = used ? "," : "";
        const int wrote = last > cpu ? std::snprintf(to + used, room - used, "%s%zu-%zu", comma, cpu, last)
                                     : std::snprintf(to + used, room - used, "%s%zu", comma, cpu);
        if (wrote < 0 || used + size_t(wrote) >= room)
            return;
        used += size_t(wrote);
        cpu = last;
    }
}

}  // namespace mpiric::system
