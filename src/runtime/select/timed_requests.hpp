// Requests of collectives that are timed from start to completion.
#pragma once

#include "world/library.hpp"

#include <cstdint>

namespace mpiric::select {

struct Exploration;

/// Times the request of a measured call for its exploration; a persistent request from its first start on.
void time_request(MPI_Request request, Exploration& exploration, uint64_t begin_ns, bool persistent) noexcept;

}  // namespace mpiric::select
