#include "record/receives.hpp"

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

}  // namespace mpiric::record
