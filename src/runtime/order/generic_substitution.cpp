// Functions before the library's that pass communicators on, as templates over the signatures of the header.
#include "order/substitution.hpp"
#include "symbols/function_table.hpp"

#include <utility>

namespace mpiric::order {
namespace {

template <bool is_communicator, class Argument>
[[gnu::always_inline]] inline Argument passed(Argument argument) {
    if constexpr (is_communicator)
        return to_library(argument);
    else
        return argument;
}

/// A function before the library's; ``communicators`` is the bit mask of the parameters to substitute.
template <Function function, uint32_t communicators, class Pointer> struct Substituting;

template <Function function, uint32_t communicators, class Result, class... Arguments>
struct Substituting<function, communicators, Result (*)(Arguments...)> {
    static Result call(Arguments... arguments) {
        return [&]<size_t... at>(std::index_sequence<at...>) {
            return next<function, Result (*)(Arguments...)>()(
                passed<(communicators >> at & 1) != 0, Arguments>(arguments)...);
        }(std::index_sequence_for<Arguments...>());
    }
};

template <Function function, uint32_t communicators, class Pointer> void* substituting() noexcept {
    if constexpr (communicators == 0)
        return nullptr;
    else
        return reinterpret_cast<void*>(&Substituting<function, communicators, Pointer>::call);
}

}  // namespace

#define MPIRIC_SUBSTITUTING_1(name, communicators)                                                           \
    case Function::name:                                                                                     \
        return substituting<Function::name, communicators, decltype(&P##name)>();
#define MPIRIC_SUBSTITUTING_0(name, communicators)
#define MPIRIC_FUNCTION(name, family, wrapper, profiling, communicators, presence)                           \
    MPIRIC_SELECT(MPIRIC_SUBSTITUTING, name)(name, communicators)

void* generic_before_library(Function function) noexcept {
    switch (function) {
#include "symbols/functions.inc"
    default:
        return nullptr;
    }
}

}  // namespace mpiric::order
