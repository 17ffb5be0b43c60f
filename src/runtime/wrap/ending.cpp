#include "wrap/ending.hpp"

#include "symbols/interception.hpp"
#include "system/devices.hpp"
#include "system/flush.hpp"
#include "world/merge.hpp"
#include "world/patience.hpp"
#include "wrap/armed.hpp"

#include <atomic>

namespace mpiric::wrap {
namespace {

using world::handles;
using world::library;

/// The first barrier is through when rank 0 has passed the last mark, where the others follow it; the last
/// one when every rank has.
struct Ending {
    bool prepared = false;
    bool follows = false;  ///< rank 0 alone counts
    int rank = 0;
    int wanted = 0;   ///< barriers
    int started = 0;  ///< of them
    MPI_Comm comm{};
    MPI_Request requests[2] = {};
};
constinit Ending ending;
constinit std::atomic_flag asking = ATOMIC_FLAG_INIT;

void start_barriers(int up_to) noexcept {
    for (; ending.started < up_to; ++ending.started)
        if (library.Ibarrier(ending.comm, &ending.requests[ending.started]) != MPI_SUCCESS)
            return;
}

/// Asks whether the barriers that were started are through.
bool barriers_through() noexcept {
    int through = 0;
    return library.Testall(ending.started, ending.requests, &through, MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
           through;
}

void end_run() noexcept {
    armed.stage = Stage::off;
    ending.prepared = false;
    if (ending.rank != 0)
        return;
    if (armed.marks.is_open())
        armed.marks.head().state = uint32_t(marks::State::ended);
    library.Abort(handles.comm_world, 0);
}

}  // namespace

bool prepare_ending(bool counts) noexcept {
    ending.comm = world::make_merge_comm(world::Made::at_beginning);
    if (ending.comm == handles.comm_null)
        return false;
    ending.prepared = true;
    library.Comm_rank(ending.comm, &ending.rank);
    ending.follows = runtime.options.mark_ranks == MarkRanks::first;
    ending.wanted = ending.follows ? 2 : 1;
    if (!counts)
        start_barriers(1);
    return true;
}

void pass_last_mark() noexcept {
    if (!ending.prepared)
        return;
    if (!system::flush_output())
        armed.marks.set(marks::Flag::flush_failed);
    armed.marks.set(marks::Flag::passed);
    start_barriers(ending.wanted);
    armed.stage = Stage::passed;
    symbols::watch_everything();
}

void follow_first_rank() noexcept {
    constexpr uint32_t asked_in_turn = 16;
    static constinit std::atomic<uint32_t> turn{0};
    if (turn.fetch_add(1, std::memory_order_relaxed) % asked_in_turn != 0 || asking.test_and_set())
        return;
    if (armed.stage == Stage::following && barriers_through()) {
        armed.stage = Stage::off;
        armed.marks.pass_last();
        pass_last_mark();
    }
    asking.clear();
}

void try_to_end() noexcept {
    if (asking.test_and_set())
        return;  // another thread does
    if (armed.stage == Stage::passed && ending.started == ending.wanted && barriers_through())
        end_run();
    asking.clear();
}

void finish_ending() noexcept {
    if (!ending.prepared)
        return;
    ending.prepared = false;
    start_barriers(ending.wanted);
    world::wait_until([](int* through) {
        return library.Testall(ending.started, ending.requests, through, MPI_STATUSES_IGNORE);
    });
    library.Comm_free(&ending.comm);
}

bool results_may_be_elsewhere() noexcept {
    static constinit uint32_t openings = UINT32_MAX;
    static constinit bool loaded = false;
    if (const uint32_t now = symbols::library_openings(); now != openings) {
        openings = now;
        loaded = system::device_driver_loaded();
    }
    return loaded;
}

}  // namespace mpiric::wrap
