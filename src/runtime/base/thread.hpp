// State of each thread while it is in a wrapper.
#pragma once

#include <csignal>
#include <cstdint>

namespace mpiric {

/// Depth and frame of the outermost wrapper on this thread. Only the outermost wrapper records: calls that a
/// library, a tool or a callback makes inside it belong to the same call of the program.
struct Thread {
    const void* frame = nullptr;
    uint32_t depth = 0;
    bool by_profiling_name = false;    ///< entered through the PMPI_ name: go on to the library itself
    bool looking_for_library = false;  ///< true inside a search for the MPI library
    bool dispatching = false;          ///< true inside a collective that the tuner dispatches
    uint32_t turns_left = 0;           ///< polled calls until the next timed one
    uint32_t receive_turn = 0;         ///< counter of receives, to select the probed ones
    uint64_t waited = 0;               ///< ticks in the barrier before the collective that comes next
    void* caller = nullptr;            ///< return address of a call by the PMPI_ name
    /// Locks that this thread holds or waits for. A signal handler meanwhile must take none.
    uint32_t locks_held = 0;

    /// Whether the program itself has called, by the plain name.
    bool is_outside() const noexcept { return (depth | uint32_t(by_profiling_name)) == 0; }
};

// Reached with one instruction: the runtime is in the program from its start.
inline thread_local constinit Thread thread;

/// Whether a signal handler runs on a stack of its own, whose frames may have any address.
[[gnu::noinline, gnu::cold]] inline bool on_signal_stack() noexcept {
    stack_t stack{};
    return sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/// Whether a wrapper is active further up the call stack. A frame above ours was left by longjmp.
[[gnu::always_inline]] inline bool nested(Thread& self) noexcept {
    if (self.depth == 0) [[likely]]
        return false;
    if (__builtin_frame_address(0) <= self.frame || on_signal_stack()) [[likely]]
        return true;
    self.depth = 0;
    return false;
}

/// Marks this thread as being inside a wrapper, also when an exception passes through.
class Inside {
  public:
    explicit Inside(Thread& self) noexcept : self_(self), before_(self.depth) {
        if (before_ == 0)
            self_.frame = __builtin_frame_address(0);
        self_.depth = before_ + 1;
    }
    ~Inside() { self_.depth = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    Thread& self_;
    uint32_t before_;
};

/// Inside where no wrapper is at work below us.
class Outermost {
  public:
    explicit Outermost(Thread& self) noexcept : self_(self) {
        self_.depth = 1;
        self_.frame = __builtin_frame_address(0);
    }
    ~Outermost() { self_.depth = 0; }
    Outermost(const Outermost&) = delete;
    Outermost& operator=(const Outermost&) = delete;

  private:
    Thread& self_;
};

}  // namespace mpiric
