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

}  // namespace mpiric::select
