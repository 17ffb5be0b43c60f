#include "select/dispatch.hpp"

#include "coll/barrier/stages.hpp"
#include "coll/datatype.hpp"
#include "coll/reduction.hpp"
#include "select/tuner.hpp"

#include <algorithm>

namespace mpiric::select {
namespace {

using tune::Kind;

/// Raises an error of a shadow communicator on the program's, to its handler.
int raised(MPI_Comm comm, int code) noexcept {
    if (code == MPI_SUCCESS)
        return code;
    world::library.Comm_call_errhandler(comm, code);
    return code;
}

coll::Arguments filled(coll::Team& team, const CollectiveCall& call) {
    coll::Arguments arguments{team, nullptr, nullptr, 0, 0, {}, {}, {}, {}, {}, {}, {}, call.root};
    call.access->fill(call.arguments, arguments);
    return arguments;
}

coll::Workload workload_of(const CollectiveCall& call, coll::Team& team,
                           const coll::Algorithm& algorithm) noexcept {
    coll::Workload workload;
    workload.collective = algorithm.collective;
    workload.layout = team.layout();
    workload.bytes = call.all_bytes;
    if (workload.collective == Collective::alltoall || workload.collective == Collective::alltoallv)
        workload.in_place = filled(team, call).send == MPI_IN_PLACE;
    if (!reduces(call.collective))
        return workload;
    const coll::Geometry geometry = coll::geometry_of(call.type);
    workload.count = call.count;
    workload.span = coll::span_of(geometry, MPI_Count(call.count));
    workload.dense = geometry.dense();
    workload.commutative = call.commutes;
    return workload;
}

/// Whether a candidate gives the right result for a call: the same on every rank.
bool serves(const Tuner& all, CommState& state, const CollectiveCall& call, uint32_t candidate) noexcept {
    if (!all.basis.usable[candidate])
        return false;
    switch (all.basis.catalogue[candidate].kind) {
    case Kind::library:
        return true;
    case Kind::switched:
        return call.commutes;
    case Kind::own:
        break;
    }
    const coll::Algorithm* algorithm = all.algorithms[candidate];
    if (!algorithm || (reduces(call.collective) && !coll::can_reduce(call.op, call.type)))
        return false;
    coll::Team* team = team_of(state, call.comm);
    return team &&
           coll::serves(*algorithm, workload_of(call, *team, *algorithm), all.basis.rules.scratch_bytes);
}

int run_switched(Tuner& all, CommState& state, const CollectiveCall& call, uint32_t candidate) {
    if (all.basis.catalogue[candidate].scope == tune::Scope::communicator) {
        const world::ShadowComm* shadow = switched_shadow(state, call.comm, candidate);
        return shadow ? raised(call.comm, call.access->next(call.arguments, true, shadow->comm))
                      : call.pass_on();
    }
    world::Settings& settings = all.settings[candidate];
    const bool applied = settings.apply();
    const int code = call.pass_on();
    if (applied)
        settings.restore();
    return code;
}

/// Lets all ranks begin a call together.
void rendezvous(CommState& state, const CollectiveCall& call) {
    if (const coll::Team* team = team_of(state, call.comm))
        coll::meet(*team);
    else
        world::allreduce_max(state.group->shadows.comm, {});
}

/// Runs a measured call and, at the end of a block, lets the ranks agree on its times.
int explore(CommState& state, Entry& entry, Exploration& exploration, const CollectiveCall& call) {
    const tune::Step step = exploration.learner->next();
    const uint32_t candidate = exploration.candidates[step.candidate];
    if (!step.measured)
        return run(state, call, candidate);
    note_measured(exploration, call.bytes, is_composed(call));
    if (step.rendezvous) {
        const uint64_t arrival = now_ns();
        rendezvous(state, call);
        exploration.block.rendezvous_ns += now_ns() - arrival;
    }
    const uint64_t begin = now_ns();
    const int code = run(state, call, candidate);
    const uint64_t end = now_ns();
    add_call(exploration, candidate, begin, end);
    if (!step.ends_block)
        return code;
    BlockSums sums = sums_of(exploration);
    world::allreduce_max(state.group->shadows.comm, sums);
    const uint64_t agreeing = now_ns() - end;
    end_block(entry, exploration, sums);
    exploration.block.agreeing_ns = agreeing;
    return code;
}

}  // namespace

std::vector<uint32_t> serving(CommState& state, const CollectiveCall& call) {
    const Tuner& all = tuner();
    std::vector<uint32_t> candidates = all.basis.catalogue.of(call.collective);
    std::erase_if(candidates, [&](uint32_t candidate) { return !serves(all, state, call, candidate); });
    return candidates;
}

int run(CommState& state, const CollectiveCall& call, uint32_t candidate) {
    Tuner& all = tuner();
    switch (serves(all, state, call, candidate) ? all.basis.catalogue[candidate].kind : Kind::library) {
    case Kind::switched:
        return run_switched(all, state, call, candidate);
    case Kind::own:
        return raised(call.comm, all.algorithms[candidate]->run(filled(*state.group->shadows.team, call)));
    case Kind::library:
        break;
    }
    return call.pass_on();
}

int dispatch(CommState& state, Entry& entry, CollectiveCall& call) noexcept {
    const Basis& basis = tuner().basis;
    const DispatchScope scope(thread);
    GroupState& group = *state.group;
    ++group.blocking.calls;
    call.commutes = commutes(call);
    const auto [choice, exploration] =
        decide(basis, group.shape, group.blocking, entry, {call.collective, call.bytes, call.commutes});
    if (choice >= 0)
        return run(state, call, uint32_t(choice));
    if (choice == Choice::library || !exploration || !shadow_comm(state, call.comm))
        return call.pass_on();
    if (!exploration->learner)
        begin_learning(basis, group.blocking.explorations, entry, *exploration, call.collective, call.bytes,
                       serving(state, call));
    return explore(state, entry, *exploration, call);
}

}  // namespace mpiric::select
