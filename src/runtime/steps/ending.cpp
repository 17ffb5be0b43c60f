// Ends the run at its last mark: ranks report to rank 0 by messages that nobody waits for; it aborts the job.
#include "steps/armed.hpp"

#include "base/say.hpp"
#include "profile/context.hpp"
#include "symbols/switchboard.hpp"
#include "system/process.hpp"
#include "world/merge.hpp"
#include "world/patience.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <processor.hpp>
#include <string>
#include <vector>

namespace mpiric::steps {
namespace {

using world::handles;
using world::library;

constexpr int report_tag = 1, signal_tag = 2, learned_tag = 3;

/// Report of a rank.
struct Report {
    int32_t rank;
    uint32_t passed;
    uint64_t learned_bytes;  ///< size of the part of the learned policy that follows
};

/// Part of the learned policy that a rank sends or receives.
struct Learned {
    std::string keys;
    MPI_Request request{};
    Learned* next = nullptr;
};

/// Every other rank reports to rank 0, once: that it has passed the last mark, or has come to MPI_Finalize
/// without. Where rank 0 alone counts, it signals to the others, once, which of the two it has done.
struct Ending {
    bool prepared = false;
    bool follows = false;  ///< rank 0 alone counts
    int rank = 0, size = 1;
    MPI_Comm comm{};

    bool reported = false;       ///< not on rank 0
    bool receiving = false;      ///< rank 0 has found a report and receives it
    MPI_Request reporting{};     ///< request of the report that this rank sends or receives
    Report report{};             ///< sent, or received
    Learned* learned = nullptr;  ///< sent; on rank 0 received, a list
    int reports = 0;             ///< number of reports that have come to rank 0
    bool all_passed = true;      ///< whether all ranks that have reported had passed
    bool signalled = false;      ///< rank 0 has sent the signal, or this rank has received it
    bool signal = false;         ///< sent, or received
    MPI_Request signal_in{};     ///< not on rank 0
    MPI_Request* signals_out{};  ///< requests of rank 0, one for each of the others

    std::atomic<bool> asking{false};  ///< some thread asks how far the others are
    std::atomic<uint64_t> due{0};     ///< ticks before which rank 0 is not asked again
    uint32_t openings = UINT32_MAX;   ///< number of library openings when drivers were last looked for
    bool driver_loaded = false;       ///< the driver of an accelerator is loaded
};
constinit Ending ending;

bool is_first() noexcept { return ending.rank == 0; }

bool is_done(MPI_Request& request) noexcept {
    int done = 0;
    return library.Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
}

/// Whether a report has come to rank 0. Looked for and then received from its source: in MPICH 5.0 over UCX a
/// receive from any source misses what ranks on other hosts send.
bool take_report() noexcept {
    if (!ending.receiving) {
        int came = 0;
        MPI_Status status;
        if (library.Iprobe(MPI_ANY_SOURCE, report_tag, ending.comm, &came, &status) != MPI_SUCCESS || !came)
            return false;
        library.Irecv(&ending.report, sizeof(Report), handles.byte, status.MPI_SOURCE, report_tag,
                      ending.comm, &ending.reporting);
        ending.receiving = true;
    }
    ending.receiving = !is_done(ending.reporting);
    return !ending.receiving;
}

/// Memory for a learned part; null when memory is short.
Learned* make_learned(std::string keys) noexcept { return new (std::nothrow) Learned{std::move(keys)}; }

/// When memory is short the rank's message is never received: its part is missing.
void receive_learned(const Report& report) noexcept {
    Learned* learned = make_learned({});
    if (!learned)
        return;
    try {
        learned->keys.resize(report.learned_bytes);
    } catch (const std::bad_alloc&) {
        delete learned;
        return;
    }
    library.Irecv(learned->keys.data(), int(learned->keys.size()), handles.byte, report.rank, learned_tag,
                  ending.comm, &learned->request);
    learned->next = ending.learned;
    ending.learned = learned;
}

/// Whether what was learned elsewhere has arrived, or on its own rank has left.
bool learned_is_done() noexcept {
    for (Learned* each = ending.learned; each; each = each->next)
        if (!is_done(each->request))
            return false;
    return true;
}

/// Takes the reports that have come to rank 0; returns whether all have come, with their learned parts.
bool take_reports() noexcept {
    while (ending.reports < ending.size - 1) {
        if (!take_report())
            return false;
        ending.all_passed = ending.all_passed && ending.report.passed;
        if (ending.report.learned_bytes > 0)
            receive_learned(ending.report);
        ++ending.reports;
    }
    return learned_is_done();
}

void report(bool passed) noexcept {
    if (is_first() || ending.reported)
        return;
    ending.reported = true;
    ending.learned = passed && world::early_end.collect ? make_learned(world::early_end.collect()) : nullptr;
    const uint64_t bytes = ending.learned ? ending.learned->keys.size() : 0;
    if (bytes > 0)
        library.Isend(ending.learned->keys.data(), int(bytes), handles.byte, 0, learned_tag, ending.comm,
                      &ending.learned->request);
    else
        ending.learned = nullptr;
    ending.report = {ending.rank, passed, bytes};
    library.Isend(&ending.report, sizeof(Report), handles.byte, 0, report_tag, ending.comm,
                  &ending.reporting);
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

void wait_for(MPI_Request& request) noexcept {
    world::wait_until([&](int* done) { return library.Test(&request, done, MPI_STATUS_IGNORE); });
}

/// Writes the policy that all ranks have learned, when the run is over.
void write_learned() noexcept try {
    if (!world::early_end.write)
        return;
    std::vector<std::string> of_ranks = {world::early_end.collect()};
    for (const Learned* each = ending.learned; each; each = each->next)
        of_ranks.push_back(each->keys);
    world::early_end.write(of_ranks);
} catch (...) {
    say_once("the learned policy is not written", "memory is short");
}

/// Rank 0 has every report: ends the run, or lets it go on where some rank came to its end before the mark.
void conclude() noexcept {
    armed.stage = Stage::off;
    if (!ending.all_passed)
        return;
    write_learned();
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
    system::wait_for_readers();
    armed.marks.set(marks::Flag::passed);
    signal_others(true);
    report(true);
    armed.stage = Stage::passed;
    watch_everything();
}

void follow_first_rank() noexcept {
    constexpr uint64_t pause_ticks = 1 << 16;  // tens of microseconds: calls that follow each other closely
    const uint64_t now = ticks();
    if (!ending.prepared || now < ending.due.load(std::memory_order_relaxed) || ending.asking.exchange(true))
        return;
    ending.due.store(now + pause_ticks, std::memory_order_relaxed);
    if (armed.stage == Stage::following && !ending.signalled && is_done(ending.signal_in)) {
        ending.signalled = true;
        if (ending.signal) {
            armed.stage = Stage::off;
            armed.marks.pass_last();
            pass_last_mark();
        }
    }
    ending.asking.store(false);
}

void try_to_end() noexcept {
    if (ending.asking.exchange(true))
        return;  // another thread does
    if (armed.stage == Stage::passed) {
        if (is_first() && take_reports())
            conclude();
        else if (!is_first() && is_done(ending.reporting) && learned_is_done())
            armed.stage = Stage::off;
    }
    ending.asking.store(false);
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
        if (ending.learned)
            wait_for(ending.learned->request);
        if (ending.follows && !ending.signalled)
            wait_for(ending.signal_in);
    }
    library.Comm_free(&ending.comm);
}

bool results_may_be_elsewhere() noexcept {
    if (const uint32_t now = symbols::library_openings(); now != ending.openings) {
        ending.openings = now;
        ending.driver_loaded = system::device_driver_loaded();
    }
    return ending.driver_loaded;
}

}  // namespace mpiric::steps
