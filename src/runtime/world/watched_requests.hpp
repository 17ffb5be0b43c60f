// Requests whose starts and completions somebody wants to know, whether the program is recorded or not.
#pragma once

#include "world/library.hpp"

#include <atomic>
#include <cstdint>

namespace mpiric::world {

struct WatchedRequests {
    std::atomic<uint32_t> count{0};  ///< requests that are watched now: while it is 0 nothing is reported
    void (*started)(MPI_Request) noexcept = nullptr;
    void (*completed)(MPI_Request) noexcept = nullptr;
    void (*forgotten)(MPI_Request) noexcept = nullptr;  ///< freed by the program
};
inline constinit WatchedRequests watched_requests;

inline bool requests_watched() noexcept {
    return watched_requests.count.load(std::memory_order_relaxed) != 0;
}

}  // namespace mpiric::world
