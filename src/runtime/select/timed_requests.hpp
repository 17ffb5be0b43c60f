// Requests of collectives that are timed from start to completion.
#pragma once

#include "world/library.hpp"

#include <atomic>
#include <cstdint>

namespace mpiric::select {

struct Exploration;

/// Times the request of a measured call for its exploration; a persistent request from its first start on.
void time_request(MPI_Request request, Exploration& exploration, uint64_t begin_ns, bool persistent) noexcept;

extern constinit std::atomic<uint32_t> timed_requests;

/// Whether starts and completions have to be reported.
inline bool requests_timed() noexcept { return timed_requests.load(std::memory_order_relaxed) != 0; }

void timed_started(MPI_Request request) noexcept;
void timed_completed(MPI_Request request) noexcept;

/// Forgets a persistent request that is freed. When it was never started, its block never ends.
void timed_forgotten(MPI_Request request) noexcept;

}  // namespace mpiric::select
