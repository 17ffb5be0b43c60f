// Requests of collectives whose time from start to completion is wanted.
#pragma once

#include "world/library.hpp"

#include <atomic>
#include <cstdint>

namespace mpiric::select {

struct Lesson;

/// The call that made the request was measured: its time goes to the lesson. That of a persistent request is
/// the time of its first use.
void time_request(MPI_Request request, Lesson& lesson, uint64_t begin_ns, bool persistent) noexcept;

extern constinit std::atomic<uint32_t> timed_requests;

/// Whether starts and completions must be looked at.
inline bool requests_timed() noexcept { return timed_requests.load(std::memory_order_relaxed) != 0; }

void timed_started(MPI_Request request) noexcept;
void timed_completed(MPI_Request request) noexcept;

/// A persistent request is given back. When it was never used, the block that it belongs to has no end.
void timed_forgotten(MPI_Request request) noexcept;

}  // namespace mpiric::select
