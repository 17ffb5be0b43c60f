// Wrappers as templates over the signatures of the header. Functions that need more are written by hand:
// spec/mpi/exceptions.toml lists them with the reason.
#pragma once

#include "wrap/intercept.hpp"

#include <cstdarg>

// Of a lambda: a second instantiation would otherwise be a call.
#define MPIRIC_ALWAYS_INLINE __attribute__((always_inline))

namespace mpiric::wrap {

/// To be called first where the PMPI_ name leads to the wrapper: a tool or a Fortran layer has called.
inline void enter_by_profiling_name(void* caller) noexcept {
    thread.by_profiling_name = true;
    thread.caller = caller;
}

/// The counting wrapper of a cheap local function.
template <Function function, class Pointer> struct Counted;

template <Function function, class Result, class... Arguments>
struct Counted<function, Result (*)(Arguments...)> {
    using Pointer = Result (*)(Arguments...);

    static Result by_name(Arguments... arguments) {
        if (counts_at_once<function>()) [[likely]]
            return next_of<function, Pointer>()(arguments...);
        return apart(arguments...);
    }
    static Result by_profiling_name(Arguments... arguments) {
        enter_by_profiling_name(__builtin_return_address(0));
        return apart(arguments...);
    }

  private:
    [[gnu::noinline]] static Result apart(Arguments... arguments) {
        const LocalCall local(function, __builtin_frame_address(0));
        return reinterpret_cast<Pointer>(local.next())(arguments...);
    }
};

/// The recording wrapper of a function; ``Notes`` says what it notes.
template <Function function, Timing timing, template <Function> class Notes, class Pointer> struct Recorded;

template <Function function, Timing timing, template <Function> class Notes, class Result, class... Arguments>
struct Recorded<function, timing, Notes, Result (*)(Arguments...)> {
    using Pointer = Result (*)(Arguments...);

    [[gnu::noinline]] static Result by_name(Arguments... arguments) {
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
    static Result by_profiling_name(Arguments... arguments) {
        enter_by_profiling_name(__builtin_return_address(0));
        return by_name(arguments...);
    }
};

/// The wrapper of a send, which has a way past the recording one while marks are armed, as sends are then the
/// most frequent calls: it has no frame, and jumps to that one, whose return address is the program's.
template <Function function, template <Function> class Notes, class Pointer> struct Sent;

template <Function function, template <Function> class Notes, class Result, class... Arguments>
struct Sent<function, Notes, Result (*)(Arguments...)>
    : Recorded<function, Timing::always, Notes, Result (*)(Arguments...)> {
    static Result by_name(Arguments... arguments) {
        if (counts_ahead<function>([&](auto& call)
                                       MPIRIC_ALWAYS_INLINE { Notes<function>::after(call, arguments...); }))
            return next_of<function, Result (*)(Arguments...)>()(arguments...);
        return Sent::Recorded::by_name(arguments...);
    }
};

/// The wrappers of a function whose wrapper is written by hand.
template <auto function, class Pointer> struct ByHand;

template <auto function, class Result, class... Arguments> struct ByHand<function, Result (*)(Arguments...)> {
    static constexpr auto by_name = function;
    static Result by_profiling_name(Arguments... arguments) {
        enter_by_profiling_name(__builtin_return_address(0));
        return by_name(arguments...);
    }
};

/// MPI_Pcontrol.
template <auto function, class Level> struct ByHand<function, int (*)(Level, ...)> {
    static constexpr auto by_name = function;
    static int by_profiling_name(Level level, ...) {
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
    return {reinterpret_cast<void*>(+Functions::by_name),
            profiling == Profiling::program ? reinterpret_cast<void*>(&Functions::by_profiling_name)
                                            : nullptr};
}

symbols::Wrapper counted_wrapper(Function function) noexcept;

}  // namespace mpiric::wrap
