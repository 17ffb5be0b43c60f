#include "wrap/ending.hpp"

#include "symbols/interception.hpp"
#include "system/devices.hpp"
#include "system/flush.hpp"
#include "world/merge.hpp"
#include "world/patience.hpp"
#include "wrap/armed.hpp"

#include <atomic>
#include <cstdlib>

namespace mpiric::wrap {
namespace {

using world::handles;
using world::library;

constexpr int report_tag = 1, signal_tag = 2;

/// Every other rank reports to rank 0, once: that it has passed the last mark, or has come to MPI_Finalize
/// without. Where rank 0 alone counts, it signals to the others, once, which of the two it has done.
struct Ending {
    bool prepared = false;
    bool follows = false;  ///< rank 0 alone counts
    int rank = 0, size = 1;
    MPI_Comm comm{};

    bool reported = false;       ///< not on rank 0
    MPI_Request reporting{};     ///< on rank 0 the receive of the next report
    bool report = false;         ///< sent, or received
    int reports = 0;             ///< that have come to rank 0
    bool all_passed = true;      ///< of those
    bool signalled = false;      ///< rank 0 has sent the signal, or this rank has received it
    bool signal = false;         ///< sent, or received
    MPI_Request signal_in{};     ///< not on rank 0
    MPI_Request* signals_out{};  ///< of rank 0, one for each of the others
};
constinit Ending ending;
constinit std::atomic_flag asking = ATOMIC_FLAG_INIT;

bool is_first() noexcept { return ending.rank == 0; }

void receive_report() noexcept {
    library.Irecv(&ending.report, 1, handles.byte, MPI_ANY_SOURCE, report_tag, ending.comm,
                  &ending.reporting);
}

/// Takes the reports that have come to rank 0; whether they are all there.
bool take_reports() noexcept {
    while (ending.reports < ending.size - 1) {
        int came = 0;
        if (library.Test(&ending.reporting, &came, MPI_STATUS_IGNORE) != MPI_SUCCESS || !came)
            return false;
        ending.all_passed = ending.all_passed && ending.report;
        if (++ending.reports < ending.size - 1)
            receive_report();
    }
    return true;
}

void report(bool passed) noexcept {
    if (is_first() || ending.reported)
        return;
    ending.reported = true;
    ending.report = passed;
    library.Isend(&ending.report, 1, handles.byte, 0, report_tag, ending.comm, &ending.reporting);
}

void signal_others(bool passed) noexcept {
    if (!is_first() || !ending.follows || ending.signalled)
        return;
    ending.signalled = true;
    ending.signal = passed;
    for (int other = 1; other < ending.size; ++other)
        library.Isend(&ending.signal, 1, handles.byte, other, signal_tag, ending.comm,
                      &ending.signals_out[other - 1]);
}

bool is_done(MPI_Request& request) noexcept {
    int done = 0;
    return library.Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
}

void wait_for(MPI_Request& request) noexcept {
    world::wait_until([&](int* done) { return library.Test(&request, done, MPI_STATUS_IGNORE); });
}

/// Rank 0 has every report: ends the run, or lets it go on where some rank came to its end before the mark.
void conclude() noexcept {
    armed.stage = Stage::off;
    if (!ending.all_passed)
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
    library.Comm_rank(ending.comm, &ending.rank);
    library.Comm_size(ending.comm, &ending.size);
    ending.follows = runtime.options.mark_ranks == MarkRanks::first;
    if (is_first() && ending.follows) {
        ending.signals_out = static_cast<MPI_Request*>(std::calloc(size_t(ending.size), sizeof(MPI_Request)));
        if (!ending.signals_out)
            return false;
    }
    if (is_first() && ending.size > 1)
        receive_report();
    if (!counts)
        library.Irecv(&ending.signal, 1, handles.byte, 0, signal_tag, ending.comm, &ending.signal_in);
    ending.prepared = true;
    return true;
}

void pass_last_mark() noexcept {
    if (!ending.prepared)
        return;
    if (!system::flush_output())
        armed.marks.set(marks::Flag::flush_failed);
    armed.marks.set(marks::Flag::passed);
    signal_others(true);
    report(true);
    armed.stage = Stage::passed;
    symbols::watch_everything();
}

void follow_first_rank() noexcept {
    constexpr uint32_t asked_in_turn = 16;
    static constinit std::atomic<uint32_t> turn{0};
    if (!ending.prepared || turn.fetch_add(1, std::memory_order_relaxed) % asked_in_turn != 0 ||
        asking.test_and_set())
        return;
    if (armed.stage == Stage::following && !ending.signalled && is_done(ending.signal_in)) {
        ending.signalled = true;
        if (ending.signal) {
            armed.stage = Stage::off;
            armed.marks.pass_last();
            pass_last_mark();
        }
    }
    asking.clear();
}

void try_to_end() noexcept {
    if (asking.test_and_set())
        return;  // another thread does
    if (armed.stage == Stage::passed) {
        if (is_first() && take_reports())
            conclude();
        else if (!is_first() && is_done(ending.reporting))
            armed.stage = Stage::off;
    }
    asking.clear();
}

void finish_ending() noexcept {
    if (!ending.prepared)
        return;
    ending.prepared = false;
    signal_others(false);
    report(false);
    if (is_first()) {
        world::wait_until([](int* all) {
            *all = take_reports();
            return MPI_SUCCESS;
        });
        for (int other = 1; ending.follows && other < ending.size; ++other)
            wait_for(ending.signals_out[other - 1]);
    } else {
        wait_for(ending.reporting);
        if (ending.follows && !ending.signalled)
            wait_for(ending.signal_in);
    }
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
