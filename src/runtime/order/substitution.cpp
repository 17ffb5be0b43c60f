#include "order/substitution.hpp"

#include "order/topologies.hpp"

namespace mpiric::order {

symbols::NextFunction before_library(Function function) noexcept {
    if (void* topology = topology_before_library(function))
        return {topology, topology};
    const symbols::NextFunction by_hand = handwritten_before_library(function);
    if (by_hand.next || by_hand.library)
        return by_hand;
    void* generic = generic_before_library(function);
    return {generic, generic};
}

void stand_before(Function function, symbols::NextFunction& following) noexcept {
    const symbols::NextFunction ours = before_library(function);
    state.library_functions[static_cast<uint32_t>(function)] = following.library;
    const bool is_libraries = following.next == following.library;
    if (ours.next && is_libraries)
        following.next = ours.next;
    if (ours.library)
        following.library = ours.library;
}

void stand_before_own_calls() noexcept {
    worlds = {world::handles.comm_world, world::handles.comm_world};
#define MPIRIC_STAND(name)                                                                                   \
    if (world::library.name) {                                                                               \
        symbols::NextFunction following{reinterpret_cast<void*>(world::library.name),                        \
                                        reinterpret_cast<void*>(world::library.name)};                       \
        stand_before(Function::MPI_##name, following);                                                       \
        world::library.name = reinterpret_cast<decltype(world::library.name)>(following.library);            \
    }
    MPIRIC_OWN_CALLS(MPIRIC_STAND)
#undef MPIRIC_STAND
}

}  // namespace mpiric::order
