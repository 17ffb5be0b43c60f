// The handler of SIGBUS that replaces pages which the mapped file has lost.
#include "profile/lost_pages.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sys/mman.h>

namespace mpiric::profile {
namespace {

struct Guarded {
    uintptr_t from;
    size_t bytes;
    void (*lost)() noexcept;
    struct sigaction before;
};
constinit Guarded guarded{};

bool replace_pages() noexcept {
    const int error = errno;
    void* at = mmap(reinterpret_cast<void*>(guarded.from), guarded.bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = error;
    return at != MAP_FAILED;
}

void on_bus_error(int number, siginfo_t* info, void*) {
    const bool is_fault = info->si_code > 0;  // not sent by a process
    if (is_fault && reinterpret_cast<uintptr_t>(info->si_addr) - guarded.from < guarded.bytes &&
        replace_pages())
        return guarded.lost();
    // Not ours: whoever was to have it gets it when the fault repeats itself, or as the signal is sent again.
    sigaction(number, &guarded.before, nullptr);
    if (!is_fault)
        raise(number);
}

}  // namespace

void guard_pages(const void* from, size_t bytes, void (*lost)() noexcept) noexcept {
    guarded.from = reinterpret_cast<uintptr_t>(from);
    guarded.bytes = bytes;
    guarded.lost = lost;
    struct sigaction action{};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGBUS, &action, &guarded.before);
}

}  // namespace mpiric::profile
