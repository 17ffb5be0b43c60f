// Makes, finds and frees the tuner's state of communicators. Owned by the Tuner, shared by equal groups.
#include "select/comm_state.hpp"

#include "select/tuner.hpp"
#include "system/process.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::select {

thread_local constinit CachedCommState cached_comm_states[cached_comm_states_count]{};

namespace {

using world::handles;
using world::library;

constexpr uint32_t most_kept_shadows = 8;
// Groups kept although no later communicator can have the same group.
constexpr size_t most_kept_groups = 1024;

/// Ranks of a communicator as ranks of the world; empty when it is to be left to the library.
std::vector<int32_t> members_of(MPI_Comm comm, const Tuner& tuner, int& rank) {
    int inter = 0, size = 0;
    MPI_Group group{};
    if (library.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter ||
        library.Comm_size(comm, &size) != MPI_SUCCESS || size < 2 ||
        library.Comm_group(comm, &group) != MPI_SUCCESS)
        return {};
    std::vector<int> ranks(static_cast<size_t>(size)), members(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const int code =
        library.Group_translate_ranks(group, size, ranks.data(), tuner.world_group, members.data());
    library.Group_rank(group, &rank);
    library.Group_free(&group);
    if (code != MPI_SUCCESS)
        return {};
    for (const int member : members)
        if (member < 0 || member >= tuner.world.size)
            return {};
    return members;
}

std::unique_ptr<CommState> make_comm_state(MPI_Comm comm, Tuner& tuner) {
    int rank = 0;
    const std::vector<int32_t> members = members_of(comm, tuner, rank);
    if (members.empty())
        return nullptr;
    auto state = std::make_unique<CommState>();
    state->rank = rank;
    state->size = int(members.size());
    CommStates& states = tuner.states;
    const std::lock_guard held(states.lock);
    // Threads may come in another order on another rank: then nothing learned is shared.
    const uint64_t identity = tuner.many_threads ? states.serial++ : tune::identity_of(members);
    std::shared_ptr<GroupState>& group = states.groups[identity];
    if (!group) {
        group = std::make_shared<GroupState>();
        group->identity = identity;
        group->shape = tune::shape_of(members, tuner.nodes);
        group->rank = rank;
        group->of_world = !tuner.many_threads && state->size == tuner.world.size &&
                          std::is_sorted(members.begin(), members.end());
    }
    ++group->comms;
    state->owner = group;
    state->group = group.get();
    return state;
}

/// Whether a group keeps its shadow communicators for the next communicators of it. Programs make
/// communicators of all ranks again and again, of other ranks mostly once. All ranks count these alike.
bool keeps_shadows(Tuner& tuner, GroupState& group) noexcept {
    if (tuner.many_threads || group.shape.ranks != uint32_t(tuner.world.size))
        return false;
    if (!group.keeps_shadows && tuner.states.kept_shadows < most_kept_shadows) {
        group.keeps_shadows = true;
        ++tuner.states.kept_shadows;
    }
    return group.keeps_shadows;
}

/// Whether communicators of the group that come later, or the learned policy, can use its state. The same on
/// all of its ranks: another that forgot would count calls differently.
bool is_worth_keeping(const Tuner& tuner, const GroupState& group) noexcept {
    if (tuner.many_threads &&
        (!tuner.basis.rules.writes_policy || tuner.states.groups.size() > most_kept_groups))
        return has_calls_under_way(group.blocking.explorations);
    return has_choices(group.blocking.explorations);
}

bool make_shadow(const CommState& state, MPI_Comm comm, world::ShadowComm& shadow) noexcept {
    return state.group->of_world ? world::make_shadow_comm(tuner().world.comm, shadow)
                                 : world::make_shadow_comm_quietly(comm, shadow);
}

}  // namespace

CommState* find_comm_state(MPI_Comm comm) noexcept try {
    Tuner& all = tuner();
    if (!all.active || comm == handles.comm_null)
        return nullptr;
    const uint32_t now = world::caches.generation.load(std::memory_order_acquire);
    const uint64_t handle = world::number(comm);
    {
        const std::lock_guard held(all.states.lock);
        if (const auto known = all.states.comms.find(handle); known != all.states.comms.end()) {
            cached_comm_state(comm) = {comm, now, known->second.get()};
            return known->second.get();
        }
    }
    std::unique_ptr<CommState> state = make_comm_state(comm, all);
    CommState* found = state.get();
    {
        const std::lock_guard held(all.states.lock);
        all.states.comms[handle] = std::move(state);
    }
    cached_comm_state(comm) = {comm, now, found};
    return found;
} catch (...) {
    return nullptr;
}

void forget_comm_state(MPI_Comm comm) noexcept {
    Tuner& all = tuner();
    if (!all.active)
        return;
    std::unique_ptr<CommState> state;
    {
        const std::lock_guard held(all.states.lock);
        const auto known = all.states.comms.find(world::number(comm));
        if (known == all.states.comms.end())
            return;
        state = std::move(known->second);
        all.states.comms.erase(known);
        if (state)
            keep_explorations(*state, all.states.orphans);
    }
    world::invalidate_caches();
    if (!state || --state->group->comms > 0 || keeps_shadows(all, *state->group))
        return;
    free_shadow_comms(state->group->shadows);
    state->group->blocking.calls = 0;
    const std::lock_guard held(all.states.lock);
    if (!is_worth_keeping(all, *state->group))
        all.states.groups.erase(state->group->identity);
}

void keep_explorations(CommState& state, std::vector<Explorations>& orphans) {
    if (!state.started)
        return;
    StartedTable& table = state.started->table;
    for (auto& [key, exploration] : table.explorations)
        exploration.calls = table.entry(Collective(key / tune::class_count), key % tune::class_count).calls;
    // Nodes of the map stay where they are in memory: requests under way point to them.
    state.group->blocking.explorations.merge(table.explorations);
    std::erase_if(table.explorations, [](const auto& item) { return item.second.block.under_way == 0; });
    if (!table.explorations.empty())
        orphans.push_back(std::move(table.explorations));
}

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
            shadows.team.reset(coll::Team::make(shadow->comm, coll::split_by_memory, system::own_seat()));
    }
    return shadows.team.get();
}

void free_shadow_comms(ShadowComms& shadows) noexcept {
    shadows.team.reset();
    for (auto& [candidate, shadow] : shadows.switched)
        world::free_shadow_comm(shadow);
    world::free_shadow_comm(shadows.comm);
    shadows = {};
}

}  // namespace mpiric::select
