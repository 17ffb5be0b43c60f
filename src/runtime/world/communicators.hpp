// Communicators and windows of the program: which ranks of the world they hold. Learnt at birth, forgotten
// when freed.
#pragma once

#include "world/datatypes.hpp"
#include "world/library.hpp"

#include <cstdint>

namespace mpiric::world {

/// One communicator or window. `index` is the one in the record.
struct Place {
    uint64_t handle = 0;  ///< 0: this place is free
    uint32_t index = 0;
    int32_t size = 0;   ///< ranks that can be addressed: the other group of an intercommunicator
    int32_t group = 0;  ///< ranks of the own group
    int32_t rank = 0;
    int32_t degree = -1;  ///< neighbours to send to; -1: not asked yet
    bool is_window = false;
    bool between = false;            ///< joins two groups
    int32_t* world_ranks = nullptr;  ///< null: rank r is rank r of the world

    /// Rank of the program's world, -1 for one outside it.
    int32_t world_rank(int32_t rank_here) const noexcept {
        if (rank_here < 0 || rank_here >= size)
            return -1;
        return world_ranks ? world_ranks[rank_here] : rank_here;
    }
};

/// What a new place is like, for the record.
struct Description {
    uint64_t members;
    int32_t size, rank, remote_size;
    bool is_window, between, whole_world;
    const char* name;
};

/// Told about each new place; answers with its index in the record.
using Register = uint32_t (*)(const Description&);

/// Begins with the world as this process sees it: the group of MPI_COMM_WORLD, or of `mpi://WORLD`.
void begin_places(MPI_Group world, Register register_place) noexcept;

struct alignas(32) RememberedPlace {
    uint64_t handle;
    uint32_t generation;
    Place* place;
};

/// Looks it up under a lock, or learns it, and remembers it.
Place* find_place(MPI_Comm comm, RememberedPlace& here) noexcept;

/// The place of a live communicator or window, learnt now if it is new; null when there is no room.
/// Remembered per thread: a lock alone costs as much as the rest of the wrapper.
[[gnu::always_inline]] inline Place* place_of(MPI_Comm comm) noexcept {
    static thread_local RememberedPlace remembered[16];
    const uint64_t handle = number(comm);
    RememberedPlace& here = remembered[few_bits(comm)];
    if (here.handle == handle && here.generation == generation.load(std::memory_order_acquire)) [[likely]]
        return here.place;
    return find_place(comm, here);
}
Place* place_of_window(MPI_Win window) noexcept;

void forget(MPI_Comm comm) noexcept;
void forget_window(MPI_Win window) noexcept;

/// Neighbours this rank sends to, by the topology of the communicator.
int32_t out_degree(Place& place, MPI_Comm comm) noexcept;

}  // namespace mpiric::world
