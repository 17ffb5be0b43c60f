// The tuner's state of the program's communicators, cached per thread.
#pragma once

#include "select/decision/decision.hpp"
#include "select/shadow_comms.hpp"
#include "tune/shape.hpp"
#include "world/datatypes.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mpiric::select {

/// What is known of all communicators with the same ranks in the same order.
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

/// What is known of the forms that do not block, on one communicator: their calls have an order only there.
struct StartedState {
    StartedTable table;
    std::vector<std::pair<Entry*, Exploration*>> full;  ///< blocks that have ended without agreement
};

/// One communicator of the program.
struct CommState {
    GroupState* group = nullptr;
    std::shared_ptr<GroupState> owner;  ///< of `group`
    int rank = 0, size = 0;
    std::unique_ptr<StartedState> started;  ///< once a form that does not block was called
    bool agrees_next = false;               ///< a block is to be agreed on in the next call that blocks
};

struct CommStates {
    std::mutex lock;                                                 ///< of the two maps
    std::unordered_map<uint64_t, std::unique_ptr<CommState>> comms;  ///< by handle; null: left to the library
    std::unordered_map<uint64_t, std::shared_ptr<GroupState>> groups;  ///< by identity
    std::vector<Explorations> orphans;  ///< of freed communicators, with calls under way
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
    if (cached.comm == comm && cached.generation == world::generation.load(std::memory_order_acquire))
        [[likely]]
        return cached.state;
    return find_comm_state(comm);
}

/// Forgets a communicator that the program frees; collective over it.
void forget_comm_state(MPI_Comm comm) noexcept;

/// Moves what a communicator has learned about the forms that do not block to its group.
void keep_explorations(CommState& state, std::vector<Explorations>& orphans);

}  // namespace mpiric::select
