#include "deferred/holding.hpp"

#include <cerrno>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/types.h>

namespace mpiric::deferred {
namespace {

thread_local constinit bool mine = false;
constexpr int brief_turns = 10'000;

}  // namespace

Holding::Holding(Patience patience) noexcept {
    if (mine)
        return;
    mine = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    int turns = 0;
    while (state.locked.exchange(true, std::memory_order_acquire)) {
        if (patience == Patience::briefly && ++turns > brief_turns) {
            mine = false;
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
    mine = false;
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
    const auto write = libc<ssize_t (*)(int, const void*, size_t)>(Posix::write);
    size_t done = 0;
    while (done < bytes) {
        const ssize_t put = write(descriptor, from + done, bytes - done);
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

}  // namespace mpiric::deferred
