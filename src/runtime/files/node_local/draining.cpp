#include "files/node_local/draining.hpp"

#include "base/say.hpp"
#include "files/direct.hpp"
#include "files/node_local/bring_home.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <linux/futex.h>

namespace mpiric::files::node_local {
namespace {

using State = Staged::State;

constexpr int wishes_asked_ms = 500;
constexpr int most_death_waits = 6000;  // of 10 ms
constinit std::atomic<uint32_t> called{0};
constinit std::atomic<bool> dying{false}, all_home{false};
constinit pthread_t drainer{};

void futex(int operation, uint32_t value, const timespec* at_most) noexcept {
    direct(SYS_futex, &called, operation | FUTEX_PRIVATE_FLAG, value, at_most, nullptr, 0);
}

bool is_in(const Staged& staged, State state) noexcept {
    return staged.state.load(std::memory_order_acquire) == state;
}

bool any_in(State state) noexcept {
    for (const Staged& each : staged_files)
        if (is_in(each, state))
            return true;
    return false;
}

/// Answers another rank that waits for a file. One that is mapped into memory stays: the rank finds its wish
/// gone and the link there still, which leads to the same bytes on this node.
void answer_wish(Staged& staged) noexcept {
    char wish[PATH_MAX];
    Link link;
    std::memcpy(link.target, staged.local, sizeof link.target);
    if (write_beside(wish, staged.own, wish_name, link.id()) && is_there(AT_FDCWD, wish) && !settle(staged) &&
        errno == EBUSY)
        direct_unlink(wish);
}

/// Brings home one that is closed; where that fails it is kept, to be tried again at the end.
void bring_queued(Staged& staged) noexcept {
    const Alone alone(staged);
    if (alone.taken() && is_in(staged, State::queued) && !bring_home(staged))
        staged.state.store(errno == EBUSY ? State::queued : State::kept, std::memory_order_release);
}

void take_turn() noexcept {
    for (Staged& each : staged_files) {
        if (is_in(each, State::queued))
            bring_queued(each);
        if (is_in(each, State::queued) || is_in(each, State::open))
            answer_wish(each);
    }
}

/// The process dies in a signal handler, perhaps within a write: a lock that is not free by then never will
/// be.
void bring_all_regardless() noexcept {
    for (Staged& each : staged_files) {
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        ++until.tv_sec;
        const bool taken = pthread_rwlock_timedwrlock(&each.lock, &until) == 0;
        const State state = each.state.load(std::memory_order_acquire);
        if (state != State::free)
            bring_home(each, Mapped::goes);
        if (taken)
            pthread_rwlock_unlock(&each.lock);
    }
}

[[noreturn]] void* run_drain(void*) {
    for (;;) {
        if (!dying && (any_in(State::open) || any_in(State::queued))) {
            const timespec at_most = {.tv_sec = 0, .tv_nsec = wishes_asked_ms * 1'000'000L};
            futex(FUTEX_WAIT, 0, &at_most);
        } else if (!dying) {
            futex(FUTEX_WAIT, 0, nullptr);
        }
        called.exchange(0);
        if (dying) {
            bring_all_regardless();
            all_home = true;
            for (;;)
                futex(FUTEX_WAIT, called.load(), nullptr);
        }
        take_turn();
    }
}

}  // namespace

bool begin_draining() noexcept {
    sigset_t all, before;  // the program's signals are for its own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool runs = pthread_create(&drainer, nullptr, run_drain, nullptr) == 0;
    if (runs)
        pthread_detach(drainer);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return runs;
}

void wake_drain() noexcept {
    if (called.exchange(1) == 0)
        futex(FUTEX_WAKE, 1, nullptr);
}

void drain(Reach reach) noexcept {
    const int error = errno;
    for (Staged& each : staged_files) {
        const State state = each.state.load(std::memory_order_acquire);
        const bool reached = state == State::queued || state == State::kept ||
                             (reach != Reach::closed && state == State::open);
        if (reached && !settle(each, reach == Reach::all ? Mapped::goes : Mapped::stays))
            say_once("a file stays on the disk of this node, where `mpiric gather` finds it", each.own);
    }
    errno = error;
}

void drain_before_death() noexcept {
    const bool any = any_in(State::queued) || any_in(State::kept) || any_in(State::open);
    if (!any || pthread_equal(pthread_self(), drainer))
        return;
    dying = true;
    called.exchange(1);
    futex(FUTEX_WAKE, 1, nullptr);
    const timespec pause = {.tv_sec = 0, .tv_nsec = 10'000'000};
    for (int waits = 0; !all_home && waits < most_death_waits; ++waits)
        nanosleep(&pause, nullptr);
}

}  // namespace mpiric::files::node_local
