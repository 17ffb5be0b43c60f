// Wrappers as templates over the signatures of the header. Functions that need more are written by hand:
// spec/mpi/exceptions.toml lists them with the reason.
#pragma once

#include "wrap/intercept.hpp"

#include <cstdarg>

// Of a lambda: a second instantiation would otherwise be a call.
#define MPIRIC_ALWAYS_INLINE __attribute__((always_inline))

namespace mpiric::wrap {

/// To be called first where the PMPI_ name leads to the wrapper: a tool above us has called it, or a Fortran
/// layer for the program.
inline void enter_by_profiling_name(void* caller) noexcept {
    thread.by_profiling_name = true;
    thread.caller = caller;
}

/// The counting wrapper of a cheap local function.
template <Function function, class Pointer> struct Counted;

template <Function function, class Result, class... Arguments>
struct Counted<function, Result (*)(Arguments...)> {
    static Result by_name(Arguments... arguments) {
        return count_local<function, Result (*)(Arguments...)>(
            [&](auto* next) MPIRIC_ALWAYS_INLINE { return next(arguments...); });
    }
    static Result by_profiling_name(Arguments... arguments) {
        enter_by_profiling_name(__builtin_return_address(0));
        return by_name(arguments...);
    }
};

/// The recording wrapper of a function; ``Notes`` says what it notes.
template <Function function, Timing timing, template <Function> class Notes, class Pointer> struct Recorded;

template <Function function, Timing timing, template <Function> class Notes, class Result, class... Arguments>
struct Recorded<function, timing, Notes, Result (*)(Arguments...)> {
    using Pointer = Result (*)(Arguments...);

    /// A send has a way past its wrapper while marks are armed, as sends are then the most frequent calls: it
    /// has no frame of its own, and jumps to the wrapper, whose return address is the program's.
    static Result by_name(Arguments... arguments) {
        if constexpr (symbols::family_of(function) == symbols::Family::send) {
            if (counts_ahead<function>(
                    [&](auto& call) MPIRIC_ALWAYS_INLINE { Notes<function>::after(call, arguments...); }))
                return next_of<function, Pointer>()(arguments...);
            return apart(arguments...);
        } else {
            return record(arguments...);
        }
    }
    static Result by_profiling_name(Arguments... arguments) {
        enter_by_profiling_name(__builtin_return_address(0));
        return by_name(arguments...);
    }

  private:
    [[gnu::noinline]] static Result apart(Arguments... arguments) { return record(arguments...); }
    [[gnu::always_inline]] static Result record(Arguments... arguments) {
        const auto call_next = [&](auto* next) MPIRIC_ALWAYS_INLINE { return next(arguments...); };
        const auto tell = [&](auto& call)
                              MPIRIC_ALWAYS_INLINE { Notes<function>::after(call, arguments...); };
        const auto enter = [&](auto& call)
                               MPIRIC_ALWAYS_INLINE { Notes<function>::entering(call, arguments...); };
        if constexpr (timing == Timing::rare)
            return intercept_rare<function, Pointer>(call_next, tell, enter);
        Notes<function>::before(arguments...);
        return intercept<function, timing, Pointer>(call_next, tell, enter);
    }
};

/// The wrapper of the PMPI_ name of a function whose wrapper is written by hand.
template <auto by_name, class Pointer> struct Profiled;

template <auto by_name, class Result, class... Arguments> struct Profiled<by_name, Result (*)(Arguments...)> {
    static Result call(Arguments... arguments) {
        enter_by_profiling_name(__builtin_return_address(0));
        return by_name(arguments...);
    }
};

/// MPI_Pcontrol.
template <auto by_name, class Level> struct Profiled<by_name, int (*)(Level, ...)> {
    static int call(Level level, ...) {
        va_list arguments;
        va_start(arguments, level);
        auto* pointer = va_arg(arguments, const char*);
        va_end(arguments);
        enter_by_profiling_name(__builtin_return_address(0));
        return by_name(level, pointer);
    }
};

/// Whether a call by the PMPI_ name can be one of the program.
enum class Profiling : uint8_t { program, library };

template <class Functions> symbols::Wrapper wrapper(Profiling profiling) noexcept {
    return {reinterpret_cast<void*>(&Functions::by_name),
            profiling == Profiling::program ? reinterpret_cast<void*>(&Functions::by_profiling_name)
                                            : nullptr};
}

symbols::Wrapper counted_wrapper(Function function) noexcept;

}  // namespace mpiric::wrap
