// Parts of a recorded call that are seldom needed, or out of line: call sites, requests, and files.
#include "record/call.hpp"

#include "symbols/modules.hpp"
#include "world/requests.hpp"

namespace mpiric::record {

constinit ReceivesUnderWay under_way;

namespace {

/// Count of bytes as a library that publishes its status keeps it: no call, no limit of an int.
template <class Status> uint64_t bytes_in(const Status& status) noexcept {
    if constexpr (requires { status.count_hi_and_cancelled; }) {
        const auto high = uint32_t(status.count_hi_and_cancelled);
        return high & 1 ? 0 : uint64_t(high >> 1) << 32 | uint32_t(status.count_lo);
    } else if constexpr (requires { status._ucount; }) {
        return status._cancelled ? 0 : uint64_t(status._ucount);
    } else {
        int cancelled = 0;
        MPI_Count bytes = 0;
        if (world::library.Test_cancelled(&status, &cancelled) != MPI_SUCCESS || cancelled ||
            world::library.Get_elements_x(&status, world::handles.byte, &bytes) != MPI_SUCCESS || bytes < 0)
            return 0;
        return uint64_t(bytes);
    }
}

profile::Cell* take_among_threads(MPI_Request request) noexcept {
    profile::Cell* cell = nullptr;
    const Held held(under_way.lock, true);
    under_way.cells.take(world::number(request), cell);
    return cell;
}

}  // namespace

uint64_t bytes_received(const MPI_Status& status) noexcept {
    return status.MPI_SOURCE == MPI_PROC_NULL ? 0 : bytes_in(status);
}

void posted_among_threads(MPI_Request request, profile::Cell* cell) noexcept {
    const Held held(under_way.lock, true);
    under_way.cells.put(world::number(request), cell);
}

void completed_among_threads(MPI_Request request, const MPI_Status& status) noexcept {
    if (profile::Cell* cell = take_among_threads(request))
        runtime.recorder.add_bytes(*cell, bytes_received(status));
}

void receive_forgotten(MPI_Request request) noexcept {
    if (receives_under_way())
        take_among_threads(request);
}

void RareRecordedCall::note_apart() const noexcept { note(); }

void RecordedCall::note_fully() const noexcept {
    profile::Cell* cell = runtime.recorder.count(function, communicator, bytes, room, elapsed, waited);
    if (posted_count > 0)
        note_receives(cell);
    if (runtime.options.call_sites) [[unlikely]]
        note_site();
}

void RecordedCall::note_receives(profile::Cell* cell) const noexcept {
    if (!cell)
        return;
    if (posted_count == 1)
        return receive_posted(*posted, cell);
    for (int at = 0; at < posted_count; ++at)
        if (world::Persistent known; world::find_request(posted[at], known) && known.is_receive)
            receive_posted(posted[at], cell);
}

void RecordedCall::note_site() const noexcept {
    if (!return_address)
        return;
    const auto address = reinterpret_cast<uint64_t>(return_address);
    if (runtime.recorder.call_site(address, function, bytes, elapsed))
        symbols::record_module(return_address);
}

void RecordedCall::note_place(void* address) noexcept {
    if (address)
        symbols::record_module(address);
}

void RecordedCall::named(const char* name) noexcept {
    if (comm_info)
        runtime.recorder.name_communicator(comm_info->index, name);
}

void RecordedCall::remembers(MPI_Request request, int destination) noexcept {
    const bool message = destination != MPI_PROC_NULL && comm_info;
    world::remember_request(
        request, {communicator, bytes, message ? comm_info->world_rank(destination) : -1, message, false});
    bytes = 0;  // nothing moves before it is started
}

void RecordedCall::remembers_receive(MPI_Request request, int source) noexcept {
    const bool comes = source != MPI_PROC_NULL;
    world::remember_request(request, {communicator, comes ? bytes : 0, -1, false, comes});
    bytes = 0;
}

void RecordedCall::starts(int count, const MPI_Request requests[]) noexcept {
    for (int at = 0; at < count; ++at) {
        world::Persistent known;
        if (!world::find_request(requests[at], known))
            continue;
        if (count == 1)
            communicator = known.communicator;
        if (known.is_receive) {
            room += known.bytes;
            posted = requests;
            posted_count = count;
            continue;
        }
        bytes += known.bytes;
        if (known.is_message)
            runtime.recorder.traffic(Traffic::message, known.world_rank, known.bytes);
    }
}

void RecordedCall::opened(MPI_File file, const char* name, MPI_Comm by, int mode) noexcept {
    on(by);
    const world::CommInfo* info = world::comm_info(by);
    files::file_opened(file, {name, uint32_t(group()), mode, info && info->rank == 0, elapsed.ticks});
    files::note_hints(file, name, by);
}

void RecordedCall::views(MPI_File file, MPI_Datatype elementary) noexcept {
    files::view_changed(file, elementary);
}

void RecordedCall::reads(MPI_File file, world::FilePlace place) noexcept {
    files::file_accessed(file, {false, bytes, elapsed.ticks, place});
}

void RecordedCall::writes(MPI_File file, world::FilePlace place) noexcept {
    files::file_accessed(file, {true, bytes, elapsed.ticks, place});
}

uint64_t wait_for_others(MPI_Comm comm) noexcept {
    const world::CommInfo* info = world::comm_info(comm);
    if (!info || info->is_inter || info->group < 2)
        return 0;
    const uint64_t begin = ticks();
    world::library.Barrier(comm);
    return ticks() - begin;
}

void look(int source, int tag, MPI_Comm comm) noexcept {
    // Only what is certainly valid is asked: an error here would reach the program's error handler.
    if (comm == world::handles.comm_null || tag < (tag == MPI_ANY_TAG ? MPI_ANY_TAG : 0))
        return;
    const world::CommInfo* info = world::comm_info(comm);
    if (!info || (source != MPI_ANY_SOURCE && (source < 0 || source >= info->size)))
        return;
    int found = 0;
    MPI_Status status;
    if (world::library.Iprobe(source, tag, comm, &found, &status) != MPI_SUCCESS)
        return;
    runtime.recorder.looked_at(found != 0, found ? bytes_received(status) : 0);
}

}  // namespace mpiric::record
