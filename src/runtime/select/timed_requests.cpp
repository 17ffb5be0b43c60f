#include "select/timed_requests.hpp"

#include "select/dispatch.hpp"
#include "select/tuner.hpp"
#include "symbols/switchboard.hpp"
#include "world/datatypes.hpp"
#include "world/watched_requests.hpp"

namespace mpiric::select {
namespace {

using world::watched_requests;

void started(MPI_Request request) noexcept {
    TimedRequest timed;
    if (tuner().timed_requests.unused.take(world::number(request), timed) &&
        !tuner().timed_requests.in_use.put(world::number(request), {timed.exploration, now_ns()}))
        --watched_requests.count;
}

/// When it was never started, its block never ends.
void forgotten(MPI_Request request) noexcept {
    TimedRequest timed;
    if (tuner().timed_requests.unused.take(world::number(request), timed))
        --watched_requests.count;
}

void completed(MPI_Request request) noexcept {
    TimedRequest timed;
    if (!tuner().timed_requests.in_use.take(world::number(request), timed))
        return;
    --watched_requests.count;
    timed.exploration->block.inside_ns += now_ns() - timed.begin_ns;
    --timed.exploration->block.under_way;
}

}  // namespace

void time_request(MPI_Request request, Exploration& exploration, uint64_t begin_ns,
                  bool persistent) noexcept {
    if (!tuner().watches_completions) {
        tuner().watches_completions = true;
        watched_requests.started = started;
        watched_requests.completed = completed;
        watched_requests.forgotten = forgotten;
        symbols::interest_changed();
    }
    ++exploration.block.under_way;  // and stays so when memory is short: then the block never ends
    if ((persistent ? tuner().timed_requests.unused : tuner().timed_requests.in_use)
            .put(world::number(request), {&exploration, begin_ns}))
        ++watched_requests.count;
}

}  // namespace mpiric::select
