#include "base/thread.hpp"

#include <csignal>

namespace mpiric {

thread_local constinit Thread thread;

bool on_signal_stack() noexcept {
    stack_t stack{};
    return sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

}  // namespace mpiric
