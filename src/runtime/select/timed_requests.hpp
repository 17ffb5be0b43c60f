// Requests of collectives that are timed from start to completion.
#pragma once

#include "base/handle_bag.hpp"
#include "world/library.hpp"

#include <cstdint>

namespace mpiric::select {

struct Exploration;

struct TimedRequest {
    Exploration* exploration = nullptr;
    uint64_t begin_ns = 0;
};

/// One thread at a time is in MPI: with more, nothing is learned about the library's algorithms.
struct TimedRequests {
    HandleBag<TimedRequest> in_use, unused;
};

/// Times the request of a measured call for its exploration; a persistent request from its first start on.
void time_request(MPI_Request request, Exploration& exploration, uint64_t begin_ns, bool persistent) noexcept;

}  // namespace mpiric::select
