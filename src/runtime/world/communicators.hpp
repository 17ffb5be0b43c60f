// The program's communicators and windows: which ranks of the world they hold, from creation to freeing.
#pragma once

#include "world/datatypes.hpp"
#include "world/library.hpp"

#include <cstdint>

namespace mpiric::world {

/// One communicator or window. `index` is the one in the record.
struct CommInfo {
    uint32_t index = 0;
    int32_t size = 0;   ///< ranks that can be addressed: the remote group of an intercommunicator
    int32_t group = 0;  ///< ranks of the local group
    int32_t rank = 0;
    int32_t degree = -1;  ///< neighbours to send to; -1: not asked yet
    bool is_window = false;
    bool is_inter = false;           ///< an intercommunicator
    int32_t* world_ranks = nullptr;  ///< null: rank r is rank r of the world

    /// Rank of the program's world, -1 for one outside it.
    int32_t world_rank(int32_t rank_in_comm) const noexcept {
        if (rank_in_comm < 0 || rank_in_comm >= size)
            return -1;
        return world_ranks ? world_ranks[rank_in_comm] : rank_in_comm;
    }
};

/// A new communicator or window, as the record wants it.
struct Description {
    uint64_t handle;
    uint64_t members;
    int32_t size, rank, remote_size;
    bool is_window, is_inter, whole_world;
    const char* name;
};

/// Enters a new communicator or window; returns its index in the record.
using AddToRecord = uint32_t (*)(const Description&);

/// To be called first, with the group of MPI_COMM_WORLD or of `mpi://WORLD`.
void begin_comm_info(MPI_Group world, AddToRecord add_to_record) noexcept;

/// Looks it up under a lock, or asks the library, and caches it.
CommInfo* find_comm_info(MPI_Comm comm, CachedCommInfo& cached) noexcept;

/// Facts about a live communicator; null when the table is full. Cached per thread, as a lock is expensive.
[[gnu::always_inline]] inline CommInfo* comm_info(MPI_Comm comm) noexcept {
    const uint64_t handle = number(comm);
    CachedCommInfo& cached = thread_caches.comms[cache_index(comm)];
    if (cached.handle == handle && cached.generation == caches.generation.load(std::memory_order_acquire))
        [[likely]]
        return cached.info;
    return find_comm_info(comm, cached);
}
CommInfo* window_info(MPI_Win window) noexcept;

void forget(MPI_Comm comm) noexcept;
void forget_window(MPI_Win window) noexcept;

/// Number of neighbours that this rank sends to, by the topology of the communicator.
int32_t out_degree(CommInfo& info, MPI_Comm comm) noexcept;

}  // namespace mpiric::world
