// The wrappers of cheap local functions: a source of their own, as they are half of all functions.
#include "symbols/function_table.hpp"
#include "wrap/wrapper.hpp"

namespace mpiric::wrap {

#define MPIRIC_CASE_counted(name, profiling)                                                                 \
    case Function::name:                                                                                     \
        return wrapper<Counted<Function::name, decltype(&P##name)>>(Profiling::profiling);
#define MPIRIC_CASE_always(name, profiling)
#define MPIRIC_CASE_polled(name, profiling)
#define MPIRIC_CASE_synchronising(name, profiling)
#define MPIRIC_CASE_rare(name, profiling)
#define MPIRIC_CASE_by_hand(name, profiling)
#define MPIRIC_WRAPPER_1(name, kind, profiling) MPIRIC_CASE_##kind(name, profiling)
#define MPIRIC_WRAPPER_0(name, kind, profiling)
#define MPIRIC_FUNCTION(name, family, kind, profiling, communicators, presence)                              \
    MPIRIC_SELECT(MPIRIC_WRAPPER, name)(name, kind, profiling)

symbols::Wrapper counted_wrapper(Function function) noexcept {
    switch (function) {
#include "symbols/functions.inc"
    default:
        return {};
    }
}

}  // namespace mpiric::wrap
