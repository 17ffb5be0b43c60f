// See dispatch(): from the arguments of a call to the candidate that serves it.
#include "select/dispatch.hpp"

#include "coll/barrier/stages.hpp"
#include "coll/reduction.hpp"
#include "select/tuner.hpp"

#include <new>

namespace mpiric::select {
namespace {

using tune::Kind;

/// Raises an error of a shadow communicator on the program's, to its handler.
int raise_error(MPI_Comm comm, int code) noexcept {
    if (code != MPI_SUCCESS)
        world::library.Comm_call_errhandler(comm, code);
    return code;
}

coll::Arguments arguments_of(const CollectiveCall& call, coll::Team& team) {
    coll::Arguments arguments{team, nullptr, nullptr, 0, 0, {}, {}, {}, {}, {}, {}, {}, call.root};
    call.function.fill(call.arguments, arguments);
    return arguments;
}

coll::Workload workload_of(const CollectiveCall& call, coll::Team& team,
                           const coll::Algorithm& algorithm) noexcept {
    coll::Workload workload;
    workload.collective = algorithm.collective;
    workload.layout = team.layout();
    workload.bytes = call.all_bytes;
    if (workload.collective == Collective::alltoall || workload.collective == Collective::alltoallv)
        workload.in_place = arguments_of(call, team).send == MPI_IN_PLACE;
    if (!reduces(workload.collective))
        return workload;
    const coll::Geometry geometry = coll::geometry_of(call.moved.type);
    workload.count = call.moved.elements;
    workload.span = coll::span_of(geometry, MPI_Count(workload.count));
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
    if (!algorithm ||
        (reduces(call.function.collective) && !coll::can_reduce(call.moved.op, call.moved.type)))
        return false;
    coll::Team* team = team_of(state, call.comm);
    return team &&
           coll::serves(*algorithm, workload_of(call, *team, *algorithm), all.basis.rules.scratch_bytes);
}

/// Candidates that give the right result for a call, the library first: the same on every rank.
std::vector<uint32_t> serving_candidates(CommState& state, const CollectiveCall& call) {
    const Tuner& all = tuner();
    std::vector<uint32_t> candidates = all.basis.catalogue.of(call.function.collective);
    std::erase_if(candidates, [&](uint32_t candidate) { return !serves(all, state, call, candidate); });
    return candidates;
}

/// Lets all ranks begin a call together.
void rendezvous(CommState& state, const CollectiveCall& call) {
    if (const coll::Team* team = team_of(state, call.comm))
        coll::meet(*team);
    else
        world::allreduce_max(state.group->shadows.comm, {});
}

/// Runs a blocking call by the candidate that is being learned about. A measured call counts, and at the end
/// of a block the ranks agree on its times.
int explore(CommState& state, Entry& entry, Exploration& exploration, const CollectiveCall& call) {
    const tune::Step step = exploration.learner->next();
    const uint32_t candidate = exploration.candidates[step.candidate];
    if (!step.measured)
        return run_candidate(state, call, candidate);
    note_measured(exploration, call.bytes, is_composed(call));
    if (step.rendezvous) {
        const uint64_t arrival = now_ns();
        rendezvous(state, call);
        exploration.block.rendezvous_ns += now_ns() - arrival;
    }
    const uint64_t begin = now_ns();
    const int code = run_candidate(state, call, candidate);
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

int run_candidate(CommState& state, const CollectiveCall& call, uint32_t candidate) {
    Tuner& all = tuner();
    const tune::Candidate& chosen = all.basis.catalogue[candidate];
    if (chosen.kind == Kind::library || !serves(all, state, call, candidate))
        return call.next();
    if (chosen.kind == Kind::own)
        return raise_error(call.comm,
                           all.algorithms[candidate]->run(arguments_of(call, *state.group->shadows.team)));
    if (chosen.scope == tune::Scope::communicator) {
        const world::ShadowComm* shadow = switched_shadow(state, call.comm, candidate);
        return shadow ? raise_error(call.comm, call.function.next(call.arguments, true, shadow->comm))
                      : call.next();
    }
    world::Settings& settings = all.settings[candidate];
    const bool applied = settings.apply();
    const int code = call.next();
    if (applied)
        settings.restore();
    return code;
}

int dispatch(const TunedFunction& function, const void* const* arguments, bool by_profiling_name) {
    const Collective collective = function.collective;
    const bool blocks = form_of(collective) == Form::blocking;
    CollectiveCall call{function, arguments, by_profiling_name,
                        *static_cast<const MPI_Comm*>(arguments[function.comm]),
                        function.root ? *static_cast<const int*>(arguments[function.root]) : 0};
    CommState* state = comm_state(call.comm);
    if (!state)
        return call.next();
    const Amount& moved = call.moved = function.measure(arguments, *state);
    call.all_bytes = world::payload(moved.type, moved.elements);
    call.bytes = call.all_bytes / moved.shares;
    const bool moves_nothing = !moved.unsized && call.all_bytes == 0;
    const bool has_no_op = reduces(collective) && moved.op == world::handles.op_null;
    if (moves_nothing || has_no_op || call.root < 0 || call.root >= state->size)
        return call.next();
    if (!blocks && !state->started)
        state->started.reset(new (std::nothrow) StartedState);
    if (!blocks && !state->started)
        return call.next();
    if (blocks && state->agrees_next)
        agree_on_started(*state, call.comm);
    Learned& learned = blocks ? static_cast<Learned&>(state->group->blocking) : state->started->table;
    const uint32_t size_class = tune::class_of(call.bytes);
    Entry& entry = blocks ? state->group->blocking.entry(collective, size_class)
                          : state->started->table.entry(collective, size_class);
    ++entry.calls;
    if (entry.choice == Choice::library)
        return call.next();
    const DispatchScope scope(thread);
    ++learned.calls;
    int commutative = 1;
    call.commutes = !reduces(collective) ||
                    (world::library.Op_commutative(moved.op, &commutative) == MPI_SUCCESS && commutative);
    const Basis& basis = tuner().basis;
    const auto [choice, exploration] =
        decide(basis, state->group->shape, learned, entry, {collective, call.bytes, call.commutes});
    if (choice >= 0)
        return run_candidate(*state, call, uint32_t(choice));
    if (choice == Choice::library || !exploration || (blocks && !shadow_comm(*state, call.comm)))
        return call.next();
    if (!exploration->learner)
        begin_learning(basis, learned.explorations, entry, *exploration, collective, call.bytes,
                       serving_candidates(*state, call));
    return blocks ? explore(*state, entry, *exploration, call)
                  : explore_started(*state, entry, *exploration, call);
}

}  // namespace mpiric::select
