// The shadow communicators of a group of ranks, and the team that our algorithms run on.
#pragma once

#include "coll/team.hpp"
#include "world/agreement.hpp"

#include <cstdint>
#include <unordered_map>

namespace mpiric::select {

struct CommState;

/// One set serves all communicators of the program with the same ranks in the same order: blocking
/// collectives on them come in one order on all ranks, or the program could deadlock with the library alone.
/// Nothing that starts an operation and completes it later may use it.
struct ShadowComms {
    bool refused = false;  ///< some rank has no room for one
    world::ShadowComm comm;
    coll::Team* team = nullptr;
    bool team_requested = false;
    std::unordered_map<uint32_t, world::ShadowComm> switched;  ///< made under the settings of a candidate
};

/// The shadow of a communicator of the program; null, then on all ranks, when there is no room. Collective
/// where it is not made yet, as are the next two.
const world::ShadowComm* shadow_comm(CommState& state, MPI_Comm comm) noexcept;

/// The shadow made under the settings of a candidate, for a library that reads its variables when a
/// communicator is made.
const world::ShadowComm* switched_shadow(CommState& state, MPI_Comm comm, uint32_t candidate);

coll::Team* team_of(CommState& state, MPI_Comm comm) noexcept;

void free_shadow_comms(ShadowComms& shadows) noexcept;

}  // namespace mpiric::select
