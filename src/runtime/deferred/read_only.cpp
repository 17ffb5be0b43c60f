#include "deferred/read_only.hpp"

#include "base/rules.hpp"
#include "deferred/holding.hpp"
#include "posix/direct.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <unistd.h>

namespace mpiric::deferred {
namespace {

constinit const char* patterns = "";
constinit std::atomic<int> noted{0};
constinit std::atomic<bool> reads_only[descriptor_count];

}  // namespace

void open_read_only(const char* wanted) noexcept { patterns = wanted; }

bool may_read_only(int directory, const char* path, int flags) noexcept {
    constexpr int more = O_CREAT | O_TRUNC | O_APPEND | O_DIRECTORY | O_PATH | O_DIRECT;
    if (!*patterns || (flags & O_ACCMODE) != O_RDWR || flags & more || !path || !fits_any(path, patterns))
        return false;
    const int error = errno;
    const bool allowed = direct(SYS_faccessat2, directory, path, R_OK | W_OK, AT_EACCESS) == 0;
    errno = error;
    return allowed;
}

void note_read_only(int descriptor, bool reads) noexcept {
    if (descriptor < 0 || descriptor >= descriptor_count)
        return;
    if (reads_only[descriptor].exchange(reads, std::memory_order_relaxed) != reads)
        noted += reads ? 1 : -1;
}

bool is_read_only(int descriptor) noexcept {
    return noted.load(std::memory_order_relaxed) > 0 && descriptor >= 0 && descriptor < descriptor_count &&
           reads_only[descriptor].load(std::memory_order_relaxed);
}

bool allow_writing(int descriptor) noexcept {
    if (!is_read_only(descriptor)) [[likely]]
        return true;
    char path[32];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    const long flags = direct(SYS_fcntl, descriptor, F_GETFL);
    const long on_exec = direct(SYS_fcntl, descriptor, F_GETFD);
    const int again = flags < 0 ? -1 : direct_open(AT_FDCWD, path, int(flags & ~O_ACCMODE) | O_RDWR);
    if (again < 0)
        return false;
    const off_t at = direct(SYS_lseek, descriptor, off_t(0), SEEK_CUR);
    direct(SYS_lseek, again, at, SEEK_SET);
    const bool allowed = direct(SYS_dup3, again, descriptor, on_exec & FD_CLOEXEC ? O_CLOEXEC : 0) >= 0;
    const int error = errno;
    direct_close(again);
    errno = error;
    if (allowed)
        note_read_only(descriptor, false);
    return allowed;
}

void allow_all_writing() noexcept {
    for (int descriptor = 0; noted.load(std::memory_order_relaxed) > 0 && descriptor < descriptor_count;
         ++descriptor)
        allow_writing(descriptor);
}

}  // namespace mpiric::deferred
