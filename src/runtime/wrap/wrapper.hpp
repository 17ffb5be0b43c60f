// Wrappers as templates over the signatures of the header. Functions that need more are written by hand:
// spec/mpi/exceptions.toml lists them with the reason.
#pragma once

#include "symbols/wrapper.hpp"
#include "wrap/intercept.hpp"

// Of a lambda: a second instantiation would otherwise be a call.
#define MPIRIC_ALWAYS_INLINE __attribute__((always_inline))

namespace mpiric::wrap {

/// The counting wrapper of a cheap local function.
template <Function function, class Pointer> struct Counted;

template <Function function, class Result, class... Arguments>
struct Counted<function, Result (*)(Arguments...)> {
    static Result by_name(Arguments... arguments) {
        return count_local<function, Result (*)(Arguments...)>(
            [&](auto* next) MPIRIC_ALWAYS_INLINE { return next(arguments...); });
    }
    static Result by_profiling_name(Arguments... arguments) {
        return wrap::by_profiling_name<function>(&by_name, arguments...);
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
        return wrap::by_profiling_name<function>(&by_name, arguments...);
    }

  private:
    [[gnu::noinline]] static Result apart(Arguments... arguments) { return record(arguments...); }
    [[gnu::always_inline]] static Result record(Arguments... arguments) {
        Notes<function>::before(arguments...);
        return intercept<function, timing, Pointer>(
            [&](auto* next) MPIRIC_ALWAYS_INLINE { return next(arguments...); },
            [&](auto& call) MPIRIC_ALWAYS_INLINE { Notes<function>::after(call, arguments...); });
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
