#include "select/timed_requests.hpp"

#include "base/handle_bag.hpp"
#include "select/dispatch.hpp"
#include "select/tuner.hpp"
#include "world/datatypes.hpp"

namespace mpiric::select {

constinit std::atomic<uint32_t> timed_requests{0};

namespace {

struct TimedRequest {
    Exploration* exploration = nullptr;
    uint64_t begin_ns = 0;
};

// One thread at a time is in MPI: with more, nothing is learned about the library's algorithms.
constinit HandleBag<TimedRequest> in_use, unused;

}  // namespace

void time_request(MPI_Request request, Exploration& exploration, uint64_t begin_ns,
                  bool persistent) noexcept {
    tuner().watch_completions();
    ++exploration.block.under_way;  // and stays so when memory is short: then the block never ends
    if ((persistent ? unused : in_use).put(world::number(request), {&exploration, begin_ns}))
        ++timed_requests;
}

void timed_started(MPI_Request request) noexcept {
    TimedRequest timed;
    if (unused.take(world::number(request), timed) &&
        !in_use.put(world::number(request), {timed.exploration, now_ns()}))
        --timed_requests;
}

void timed_forgotten(MPI_Request request) noexcept {
    TimedRequest timed;
    if (unused.take(world::number(request), timed))
        --timed_requests;
}

void timed_completed(MPI_Request request) noexcept {
    TimedRequest timed;
    if (!requests_timed() || !in_use.take(world::number(request), timed))
        return;
    --timed_requests;
    timed.exploration->block.inside_ns += now_ns() - timed.begin_ns;
    --timed.exploration->block.under_way;
}

}  // namespace mpiric::select
