#include "deferred/lateness.hpp"

#include "deferred/holding.hpp"
#include "deferred/state.hpp"

#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

namespace mpiric::deferred {
namespace {

void futex(int operation, uint32_t value) noexcept {
    libc<long (*)(long, ...)>(Posix::syscall)(SYS_futex, &state.something_held,
                                              operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

[[noreturn]] void* bound(void*) {
    for (;;) {
        while (state.something_held.load(std::memory_order_acquire) == 0)
            futex(FUTEX_WAIT, 0);
        timespec left = {.tv_sec = state.late_ms / 1000, .tv_nsec = long(state.late_ms % 1000) * 1'000'000};
        nanosleep(&left, nullptr);
        state.something_held.store(0, std::memory_order_release);
        state.write_out_late();
    }
}

}  // namespace

bool begin_lateness(uint32_t after_ms, void (*write_out)()) noexcept {
    state.late_ms = after_ms;
    state.write_out_late = write_out;
    // The program's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    const bool runs = pthread_create(&thread, nullptr, bound, nullptr) == 0;
    if (runs)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return runs;
}

void bound_lateness() noexcept {
    if (state.something_held.load(std::memory_order_relaxed) != 0) [[likely]]
        return;
    if (state.something_held.exchange(1, std::memory_order_acq_rel) == 0)
        futex(FUTEX_WAKE, 1);
}

}  // namespace mpiric::deferred
