// The wrappers of all functions but the counted ones, generic and written by hand.
#include "symbols/function_table.hpp"
#include "wrap/wrapper.hpp"

#define MPIRIC_INLINE [[gnu::always_inline]] inline

namespace mpiric::wrap {

struct NothingNoted {
    template <class... Arguments> MPIRIC_INLINE static void before(const Arguments&...) {}
    template <class C, class... Arguments> MPIRIC_INLINE static void entering(C&, const Arguments&...) {}
    template <class C, class... Arguments> MPIRIC_INLINE static void after(C&, const Arguments&...) {}
};

/// Statements before a call of a function, at its entrance where it is recorded, and after a successful call.
template <Function> struct Notes : NothingNoted {};

#include "wrap/notes.inc"

}  // namespace mpiric::wrap

extern "C" {
#define MPIRIC_DECLARE_1(name) decltype(P##name) w_##name;  // defined where a wrapper is written by hand
#define MPIRIC_DECLARE_0(name)
#define MPIRIC_FUNCTION(name, ...) MPIRIC_SELECT(MPIRIC_DECLARE, name)(name)
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
}

namespace mpiric {
namespace wrap {

template <Function function, Timing timing, Profiling profiling, auto by_hand, class Pointer>
symbols::Wrapper wrapper_of() noexcept {
    if constexpr (timing == Timing::by_hand)
        return wrapper<ByHand<by_hand, Pointer>>(profiling);
    else if constexpr (timing == Timing::counted)
        return counted_wrapper(function);
    else if constexpr (symbols::family_of(function) == symbols::Family::send)
        return wrapper<Sent<function, Notes, Pointer>>(profiling);
    else
        return wrapper<Recorded<function, timing, Notes, Pointer>>(profiling);
}

}  // namespace wrap

#define MPIRIC_WRAPPER_1(name, timing, profiling)                                                            \
    case Function::name:                                                                                     \
        return wrap::wrapper_of<Function::name, wrap::Timing::timing, wrap::Profiling::profiling, &w_##name, \
                                decltype(&P##name)>();
#define MPIRIC_WRAPPER_0(name, timing, profiling)
#define MPIRIC_FUNCTION(name, family, timing, profiling, communicators, presence)                            \
    MPIRIC_SELECT(MPIRIC_WRAPPER, name)(name, timing, profiling)

symbols::Wrapper symbols::wrapper_of(Function function) noexcept {
    switch (function) {
#include "symbols/functions.inc"
    default:
        return {};
    }
}

}  // namespace mpiric
