// A world in another order: the program's MPI_COMM_WORLD is, for the library, a communicator with the same
// processes in another order. Functions that pass communicators on are inserted directly before the
// library's, below recording, tuning and other tools, so that these see the program's handles and ranks.
#pragma once

#include "base/spin_lock.hpp"
#include "symbols/layer.hpp"
#include "world/library.hpp"

namespace mpiric::order {

using symbols::Function;

/// The two handles; equal until the world is put in another order.
struct Worlds {
    MPI_Comm program{};  ///< MPI_COMM_WORLD
    MPI_Comm ordered{};
};

/// Callbacks of the program that the library calls through one of ours, an `Entrance` of one kind: 0 to 2 in
/// order/callbacks.hpp, 3 to 5 in the layer of each family.
struct GivenFunctions {
    static constexpr size_t most = 128;
    void* given[most] = {};
    size_t used = 0;
    SpinLock lock;
};

struct State {
    Worlds worlds;
    void* library_functions[symbols::function_count] = {};  ///< library functions that ours call
    GivenFunctions given_functions[6];                      ///< one for each Entrance::kind
};
inline constinit State state;
inline constexpr Worlds& worlds = state.worlds;

/// Whether the last handle that a Fortran layer has converted on this thread was of an ordered world: set by
/// MPI_Comm_f2c (order/hw_substitution.cpp), read for Open MPI alone (order/layer_openmpi.cpp).
inline thread_local constinit bool converted_world = false;

inline MPI_Comm to_library(MPI_Comm comm) noexcept { return comm == worlds.program ? worlds.ordered : comm; }
inline MPI_Comm to_program(MPI_Comm comm) noexcept { return comm == worlds.ordered ? worlds.program : comm; }

template <Function function, class Pointer> [[gnu::always_inline]] inline Pointer next() noexcept {
    return reinterpret_cast<Pointer>(state.library_functions[static_cast<uint32_t>(function)]);
}

/// Our functions before the library's, for the two names; null where the library's own is right. The first
/// one of three counts: for a topology, written by hand, generic.
symbols::NextFunction before_library(Function function) noexcept;
symbols::NextFunction handwritten_before_library(Function function) noexcept;
/// Null if the function does not make a topology, or reordering is off.
void* topology_before_library(Function function) noexcept;

/// Puts ours before the library's; a tool that follows stays before ours.
void insert_before(Function function, symbols::NextFunction& following) noexcept;

/// Has the runtime's own calls see the program's handles too.
void insert_before_own_calls() noexcept;

/// Replaces the group of `mpi://WORLD` by the same processes in the order; each process reads it.
void reorder_group(MPI_Group& group) noexcept;

}  // namespace mpiric::order
