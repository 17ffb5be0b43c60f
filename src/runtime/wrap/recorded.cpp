// The wrappers of all functions but the counted ones, generic and written by hand.
#include "symbols/function_table.hpp"
#include "wrap/notes.hpp"
#include "wrap/wrapper.hpp"

extern "C" {
#define MPIRIC_DECLARE_by_hand(name) decltype(P##name) w_##name;
#define MPIRIC_DECLARE_counted(name)
#define MPIRIC_DECLARE_always(name)
#define MPIRIC_DECLARE_polled(name)
#define MPIRIC_DECLARE_synchronising(name)
#define MPIRIC_DECLARE_rare(name)
#define MPIRIC_DECLARE_1(name, kind) MPIRIC_DECLARE_##kind(name)
#define MPIRIC_DECLARE_0(name, kind)
#define MPIRIC_FUNCTION(name, family, kind, ...) MPIRIC_SELECT(MPIRIC_DECLARE, name)(name, kind)
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
}

namespace mpiric {

#define MPIRIC_HAND_program(name)                                                                            \
    {reinterpret_cast<void*>(&w_##name),                                                                     \
     reinterpret_cast<void*>(&Profiled<&w_##name, decltype(&P##name)>::call)}
#define MPIRIC_HAND_library(name) {reinterpret_cast<void*>(&w_##name), nullptr}
#define MPIRIC_CASE_by_hand(name, profiling)                                                                 \
    case Function::name:                                                                                     \
        return MPIRIC_HAND_##profiling(name);
#define MPIRIC_CASE_counted(name, profiling)                                                                 \
    case Function::name:                                                                                     \
        return counted_wrapper(Function::name);
#define MPIRIC_CASE_of(timing, name, profiling)                                                              \
    case Function::name:                                                                                     \
        return wrapper<Recorded<Function::name, Timing::timing, Notes, decltype(&P##name)>>(                 \
            Profiling::profiling);
#define MPIRIC_CASE_always(name, profiling) MPIRIC_CASE_of(always, name, profiling)
#define MPIRIC_CASE_polled(name, profiling) MPIRIC_CASE_of(polled, name, profiling)
#define MPIRIC_CASE_synchronising(name, profiling) MPIRIC_CASE_of(synchronising, name, profiling)
#define MPIRIC_CASE_rare(name, profiling) MPIRIC_CASE_of(rare, name, profiling)
#define MPIRIC_WRAPPER_1(name, kind, profiling) MPIRIC_CASE_##kind(name, profiling)
#define MPIRIC_WRAPPER_0(name, kind, profiling)
#define MPIRIC_FUNCTION(name, family, kind, profiling, communicators, presence)                              \
    MPIRIC_SELECT(MPIRIC_WRAPPER, name)(name, kind, profiling)

symbols::Wrapper symbols::wrapper_of(Function function) noexcept {
    using namespace wrap;
    switch (function) {
#include "symbols/functions.inc"
    default:
        return {};
    }
}

}  // namespace mpiric
