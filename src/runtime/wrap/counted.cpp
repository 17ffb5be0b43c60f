// The wrappers of cheap local functions: a source of their own, as they are half of all functions.
#include "symbols/function_table.hpp"
#include "wrap/wrapper.hpp"

namespace mpiric::wrap {

template <Function function, Timing timing, Profiling profiling, class Pointer>
symbols::Wrapper wrapper_of() noexcept {
    if constexpr (timing == Timing::counted)
        return wrapper<Counted<function, Pointer>>(profiling);
    else
        return {};
}

#define MPIRIC_WRAPPER_1(name, timing, profiling)                                                            \
    case Function::name:                                                                                     \
        return wrapper_of<Function::name, Timing::timing, Profiling::profiling, decltype(&P##name)>();
#define MPIRIC_WRAPPER_0(name, timing, profiling)
#define MPIRIC_FUNCTION(name, family, timing, profiling, communicators, presence)                            \
    MPIRIC_SELECT(MPIRIC_WRAPPER, name)(name, timing, profiling)

symbols::Wrapper counted_wrapper(Function function) noexcept {
    switch (function) {
#include "symbols/functions.inc"
    default:
        return {};
    }
}

}  // namespace mpiric::wrap
