// Learning about nonblocking and persistent collectives, which algorithms of the library serve.
//
// Starting one may wait for no other rank, so no communicator is made and nothing agreed on there: calls are
// counted, and their times from start to completion added up. The ranks agree in the next blocking collective
// of the program on the same communicator; until then further calls are the library's.
#include "select/dispatch.hpp"
#include "select/tuner.hpp"
#include "symbols/switchboard.hpp"
#include "world/requests.hpp"

namespace mpiric::select {
namespace {

void started(MPI_Request request) noexcept {
    TimedRequest timed;
    if (tuner().timed_requests.unused.take(world::number(request), timed) &&
        !tuner().timed_requests.in_use.put(world::number(request), {timed.exploration, now_ns()}))
        --world::requests.watched.count;
}

/// When it was never started, its block never ends.
void forgotten(MPI_Request request) noexcept {
    TimedRequest timed;
    if (tuner().timed_requests.unused.take(world::number(request), timed))
        --world::requests.watched.count;
}

void completed(MPI_Request request) noexcept {
    TimedRequest timed;
    if (!tuner().timed_requests.in_use.take(world::number(request), timed))
        return;
    --world::requests.watched.count;
    timed.exploration->block.inside_ns += now_ns() - timed.begin_ns;
    --timed.exploration->block.under_way;
}

/// Times the request of a measured call for its exploration; a persistent request from its first start on.
void time_request(MPI_Request request, Exploration& exploration, uint64_t begin_ns,
                  bool persistent) noexcept {
    if (!tuner().watches_completions) {
        tuner().watches_completions = true;
        world::requests.watched.started = started;
        world::requests.watched.completed = completed;
        world::requests.watched.forgotten = forgotten;
        symbols::interest_changed();
    }
    ++exploration.block.under_way;  // and stays so when memory is short: then the block never ends
    if ((persistent ? tuner().timed_requests.unused : tuner().timed_requests.in_use)
            .put(world::number(request), {&exploration, begin_ns}))
        ++world::requests.watched.count;
}

/// Agrees on one full block; false where the ranks have to agree once more.
bool agree(const world::ShadowComm* shadow, Entry& entry, Exploration& exploration) {
    const uint64_t begin = now_ns();
    BlockSums sums = sums_of(exploration);
    if (!shadow || !world::allreduce_max(*shadow, sums)) {
        end_with(entry, exploration, Choice::library);
        return true;
    }
    const uint64_t agreeing = now_ns() - begin;
    if (end_started_block(entry, exploration, sums))
        return true;
    exploration.block.agreeing_ns += agreeing;
    return false;
}

}  // namespace

int explore_started(CommState& state, Entry& entry, Exploration& exploration, const CollectiveCall& call) {
    const TunedFunction& function = call.function;
    if (exploration.block.full)
        return call.next();
    const tune::Step step = exploration.learner->next();
    const uint32_t candidate = exploration.candidates[step.candidate];
    if (!step.measured)
        return run_candidate(state, call, candidate);
    note_measured(exploration, call.bytes, is_composed(call));
    const uint64_t begin = now_ns();
    const int code = run_candidate(state, call, candidate);
    if (code == MPI_SUCCESS)
        time_request(**static_cast<MPI_Request* const*>(call.arguments[function.request]), exploration, begin,
                     form_of(function.collective) == Form::persistent);
    if (step.ends_block) {
        exploration.block.full = true;
        state.started->full.emplace_back(&entry, &exploration);
        state.agrees_next = true;
    }
    return code;
}

void agree_on_started(CommState& state, MPI_Comm comm) noexcept {
    const DispatchScope scope(thread);
    std::vector<std::pair<Entry*, Exploration*>> full;
    full.swap(state.started->full);
    state.agrees_next = false;
    const world::ShadowComm* shadow = shadow_comm(state, comm);
    for (const auto& [entry, exploration] : full) {
        if (agree(shadow, *entry, *exploration))
            continue;
        state.started->full.emplace_back(entry, exploration);
        state.agrees_next = true;
    }
}

}  // namespace mpiric::select
