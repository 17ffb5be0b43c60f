// The tuner's state of the program's communicators, cached per thread.
#pragma once

#include "coll/team.hpp"
#include "select/decision/decision.hpp"
#include "tune/shape.hpp"
#include "world/agreement.hpp"
#include "world/datatypes.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mpiric::select {

/// The shadow communicators of a group of ranks, and the team that our algorithms run on.
///
/// One set serves all communicators of the program with the same ranks in the same order: blocking
/// collectives on them come in one order on all ranks, or the program could deadlock with the library alone.
/// Nothing that starts an operation and completes it later may use it.
struct ShadowComms {
    bool refused = false;  ///< some rank has no room for one
    world::ShadowComm comm;
    std::unique_ptr<coll::Team> team;
    bool team_requested = false;
    std::unordered_map<uint32_t, world::ShadowComm> switched;  ///< made under the settings of a candidate
};

/// State shared by all communicators with the same ranks in the same order.
struct GroupState {
    uint64_t identity = 0;  ///< key of CommStates::groups
    tune::Shape shape;
    int rank = 0;
    uint32_t comms = 0;     ///< live communicators
    bool of_world = false;  ///< its ranks are the world's in their order, and one thread makes communicators
    bool keeps_shadows = false;  ///< the shadow communicators outlive them
    ShadowComms shadows;
    BlockingTable blocking;
};

/// State of the forms that do not block, on one communicator: their calls have an order only there.
struct StartedState {
    StartedTable table;
    std::vector<std::pair<Entry*, Exploration*>> full;  ///< blocks that have ended without agreement
};

/// One communicator of the program.
struct CommState {
    GroupState* group = nullptr;
    std::shared_ptr<GroupState> owner;  ///< owner of `group`
    int rank = 0, size = 0;
    std::unique_ptr<StartedState> started;  ///< once a form that does not block was called
    bool agrees_next = false;               ///< a block is to be agreed on in the next call that blocks
};

struct CommStates {
    std::mutex lock;  ///< protects the two maps
    /// Indexed by handle; null: left to the library.
    std::unordered_map<uint64_t, std::unique_ptr<CommState>> comms;
    std::unordered_map<uint64_t, std::shared_ptr<GroupState>> groups;  ///< indexed by identity
    std::vector<Explorations> orphans;  ///< explorations of freed communicators, with calls under way
    uint64_t serial = 0;
    uint32_t kept_shadows = 0;  ///< groups that keep theirs
};

struct CachedCommState {
    MPI_Comm comm;
    uint32_t generation;
    CommState* state;
};
inline constexpr uint32_t cached_comm_states_count = 16;
/// By a few bits of the handle: programs call on rows and columns in turns.
extern thread_local constinit CachedCommState cached_comm_states[cached_comm_states_count];

inline CachedCommState& cached_comm_state(MPI_Comm comm) noexcept {
    return cached_comm_states[world::cache_index(comm)];
}

/// Finds or makes the state under a lock, and caches it.
CommState* find_comm_state(MPI_Comm comm) noexcept;

/// Null for communicators that are left to the library.
inline CommState* comm_state(MPI_Comm comm) noexcept {
    const CachedCommState& cached = cached_comm_state(comm);
    if (cached.comm == comm && cached.generation == world::caches.generation.load(std::memory_order_acquire))
        [[likely]]
        return cached.state;
    return find_comm_state(comm);
}

/// Forgets a communicator that the program frees; collective over it.
void forget_comm_state(MPI_Comm comm) noexcept;

/// Moves what a communicator has learned about the forms that do not block to its group.
void keep_explorations(CommState& state, std::vector<Explorations>& orphans);

/// The shadow of a communicator of the program; null, then on all ranks, when no communicator can be made.
/// Collective where it is not made yet, as are the next two.
const world::ShadowComm* shadow_comm(CommState& state, MPI_Comm comm) noexcept;

/// The shadow made under the settings of a candidate, for a library that reads its variables then.
const world::ShadowComm* switched_shadow(CommState& state, MPI_Comm comm, uint32_t candidate);

coll::Team* team_of(CommState& state, MPI_Comm comm) noexcept;

void free_shadow_comms(ShadowComms& shadows) noexcept;

}  // namespace mpiric::select
