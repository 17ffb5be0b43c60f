// Functions before the library's that pass communicators on: templates over signatures.
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

static void* generic_before_library(Function function) noexcept {
    switch (function) {
#include "symbols/functions.inc"
    default:
        return nullptr;
    }
}

symbols::NextFunction before_library(Function function) noexcept {
    if (void* topology = topology_before_library(function))
        return {topology, topology};
    const symbols::NextFunction by_hand = handwritten_before_library(function);
    if (by_hand.next || by_hand.library)
        return by_hand;
    void* generic = generic_before_library(function);
    return {generic, generic};
}

void insert_before(Function function, symbols::NextFunction& following) noexcept {
    const symbols::NextFunction ours = before_library(function);
    state.library_functions[static_cast<uint32_t>(function)] = following.library;
    const bool is_libraries = following.next == following.library;
    if (ours.next && is_libraries)
        following.next = ours.next;
    if (ours.library)
        following.library = ours.library;
}

void insert_before_own_calls() noexcept {
    worlds = {world::handles.comm_world, world::handles.comm_world};
#define MPIRIC_INSERT(name)                                                                                  \
    if (world::library.name) {                                                                               \
        symbols::NextFunction following{reinterpret_cast<void*>(world::library.name),                        \
                                        reinterpret_cast<void*>(world::library.name)};                       \
        insert_before(Function::MPI_##name, following);                                                      \
        world::library.name = reinterpret_cast<decltype(world::library.name)>(following.library);            \
    }
    MPIRIC_OWN_CALLS(MPIRIC_INSERT)
#undef MPIRIC_INSERT
}

}  // namespace mpiric::order
