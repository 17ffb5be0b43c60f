// Words to the user: one line on stderr, once in the life of a process.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpiric {

/// Writes `mpiric: <what>` and, when given, `: <detail>`; the first call speaks, later ones are silent.
inline void say_once(const char* what, const char* detail = nullptr) noexcept {
    static std::atomic<bool> said{false};
    if (said.exchange(true))
        return;
    char line[512] = "mpiric: ";
    size_t used = std::strlen(line);
    const char* parts[] = {what, detail ? ": " : "", detail ? detail : ""};
    for (const char* part : parts)
        for (; *part && used < sizeof line - 1; ++part)
            line[used++] = uint8_t(*part) < ' ' ? '?' : *part;  // a file's name may have newlines
    line[used++] = '\n';
    // Not through write(): that one may be our own wrapper.
    [[maybe_unused]] const long written = syscall(SYS_write, STDERR_FILENO, line, used);
}

}  // namespace mpiric
