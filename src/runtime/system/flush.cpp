// Writes out what stdio and gfortran hold, for runs that end before their program.
#include "system/process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <dlfcn.h>
#include <initializer_list>
#include <linux/sockios.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::system {
namespace {

/// Blocks, for a scope, the signals that answer a write to a pipe without a reader, or beyond the limit on
/// the size of files, and discards any that arrived.
class WithoutWriteSignals {
  public:
    WithoutWriteSignals() noexcept {
        sigemptyset(&held_);
        sigaddset(&held_, SIGPIPE);
        sigaddset(&held_, SIGXFSZ);
        sigpending(&before_);
        pthread_sigmask(SIG_BLOCK, &held_, &mask_);
    }
    ~WithoutWriteSignals() {
        for (const int signal : {SIGPIPE, SIGXFSZ}) {
            sigset_t pending, only;
            sigemptyset(&only);
            sigaddset(&only, signal);
            const timespec at_once{};
            if (sigpending(&pending) == 0 && sigismember(&pending, signal) == 1 &&
                sigismember(&before_, signal) == 0)
                sigtimedwait(&only, nullptr, &at_once);
        }
        pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    }
    WithoutWriteSignals(const WithoutWriteSignals&) = delete;
    WithoutWriteSignals& operator=(const WithoutWriteSignals&) = delete;

  private:
    sigset_t held_{}, mask_{}, before_{};
};

/// Whether bytes that were written to a pipe or socket have not been read yet; of a file or terminal none.
bool has_unread(int descriptor) noexcept {
    struct stat status{};
    int unread = 0;
    if (fstat(descriptor, &status) != 0)
        return false;
    const bool is_pipe = S_ISFIFO(status.st_mode);
    return (is_pipe || S_ISSOCK(status.st_mode)) &&
           ioctl(descriptor, is_pipe ? FIONREAD : SIOCOUTQ, &unread) == 0 && unread > 0;
}

}  // namespace

bool flush_output() noexcept {
    const WithoutWriteSignals quiet;
    const bool flushed = std::fflush(nullptr) == 0;
    // No unit: all of them.
    using FlushUnits = void (*)(const int* unit);
    if (auto* flush_units = reinterpret_cast<FlushUnits>(dlsym(RTLD_DEFAULT, "_gfortran_flush_i4")))
        flush_units(nullptr);
    else
        dlerror();  // the program must not read of our question
    return flushed;
}

void wait_for_readers() noexcept {
    constexpr int looks = 500;
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 100'000};
    for (int look = 0; look < looks && (has_unread(STDOUT_FILENO) || has_unread(STDERR_FILENO)); ++look)
        nanosleep(&pause, nullptr);
}

void flush_output_at(double unix_s) noexcept {
    const auto wait = [](void* unix_ns) noexcept -> void* {
        const auto ns = reinterpret_cast<uintptr_t>(unix_ns);
        const timespec moment{.tv_sec = time_t(ns / 1'000'000'000), .tv_nsec = long(ns % 1'000'000'000)};
        while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &moment, nullptr) == EINTR) {
        }
        flush_output();
        return nullptr;
    };
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, wait, reinterpret_cast<void*>(uintptr_t(unix_s * 1e9))) == 0)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace mpiric::system
