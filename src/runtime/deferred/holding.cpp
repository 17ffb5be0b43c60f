// The lock on held output, its buffers, and the thread that bounds how late it is written.
#include "deferred/deferred.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace mpiric::deferred {
namespace {

thread_local constinit bool holds_lock = false;
constexpr int most_brief_turns = 10'000;

void futex(int operation, uint32_t value) noexcept {
    libc<long (*)(long, ...)>(Posix::syscall)(SYS_futex, &state.something_held,
                                              operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

[[noreturn]] void* write_out_in_time(void*) {
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

Holding::Holding(Patience patience) noexcept {
    if (holds_lock)
        return;
    holds_lock = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    int turns = 0;
    while (state.locked.exchange(true, std::memory_order_acquire)) {
        if (patience == Patience::briefly && ++turns > most_brief_turns) {
            holds_lock = false;
            return;
        }
        sched_yield();
    }
    taken_ = true;
}

Holding::~Holding() {
    if (!taken_)
        return;
    state.locked.store(false, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    holds_lock = false;
}

char* new_buffer(size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

void delete_buffer(char* buffer, size_t bytes) noexcept {
    if (buffer)
        munmap(buffer, bytes);
}

size_t write_fully(int descriptor, const char* from, size_t bytes) noexcept {
    size_t done = 0;
    while (done < bytes) {
        const ssize_t put = write_now(descriptor, from + done, bytes - done);
        if (put > 0) {
            done += size_t(put);
        } else if (put < 0 && errno == EAGAIN) {
            pollfd ready = {.fd = descriptor, .events = POLLOUT, .revents = 0};
            poll(&ready, 1, -1);
        } else if (put == 0 || errno != EINTR) {
            break;
        }
    }
    return done;
}

bool begin_lateness(uint32_t after_ms, void (*write_out)()) noexcept {
    state.late_ms = after_ms;
    state.write_out_late = write_out;
    // The program's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    const bool runs = pthread_create(&thread, nullptr, write_out_in_time, nullptr) == 0;
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
