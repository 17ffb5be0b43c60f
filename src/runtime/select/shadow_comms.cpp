// Making and freeing shadow communicators.
#include "select/tuner.hpp"
#include "system/seat.hpp"

namespace mpiric::select {
namespace {

bool make_shadow(const CommState& state, MPI_Comm comm, world::ShadowComm& shadow) noexcept {
    return state.group->of_world ? world::make_shadow_comm(tuner().world.comm, shadow)
                                 : world::make_shadow_comm_quietly(comm, shadow);
}

}  // namespace

const world::ShadowComm* shadow_comm(CommState& state, MPI_Comm comm) noexcept {
    ShadowComms& shadows = state.group->shadows;
    if (shadows.comm.size == 0 && !shadows.refused)
        shadows.refused = !make_shadow(state, comm, shadows.comm);
    return shadows.comm.size > 0 ? &shadows.comm : nullptr;
}

const world::ShadowComm* switched_shadow(CommState& state, MPI_Comm comm, uint32_t candidate) {
    const auto [found, fresh] = state.group->shadows.switched.try_emplace(candidate);
    world::ShadowComm& shadow = found->second;
    if (fresh) {
        world::Settings& settings = tuner().settings[candidate];
        const bool applied = settings.apply();
        if (!make_shadow(state, comm, shadow))
            shadow = {};
        if (applied)
            settings.restore();
    }
    return shadow.size > 0 ? &shadow : nullptr;
}

coll::Team* team_of(CommState& state, MPI_Comm comm) noexcept {
    ShadowComms& shadows = state.group->shadows;
    if (!shadows.team_requested) {
        shadows.team_requested = true;
        if (const world::ShadowComm* shadow = shadow_comm(state, comm))
            shadows.team = coll::Team::make(shadow->comm, coll::split_by_memory, system::own_seat());
    }
    return shadows.team;
}

void free_shadow_comms(ShadowComms& shadows) noexcept {
    coll::Team::free(shadows.team);
    for (auto& [candidate, shadow] : shadows.switched)
        world::free_shadow_comm(shadow);
    world::free_shadow_comm(shadows.comm);
    shadows = {};
}

}  // namespace mpiric::select
