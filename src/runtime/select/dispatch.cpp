#include "select/dispatch.hpp"

#include "coll/barrier/stages.hpp"
#include "select/tuner.hpp"

namespace mpiric::select {
namespace {

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
