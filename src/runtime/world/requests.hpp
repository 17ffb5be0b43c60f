// Requests of the program that calls after their start need to know: the communicator, peer and bytes of each
// start of a persistent one, and those whose starts and completions somebody wants to know.
#pragma once

#include "base/handle_bag.hpp"
#include "world/datatypes.hpp"
#include "world/library.hpp"

#include <atomic>
#include <cstdint>

namespace mpiric::world {

struct Persistent {
    uint32_t communicator = 0;
    uint64_t bytes = 0;
    int32_t world_rank = -1;
    bool is_message = false;
    bool is_receive = false;
};

/// Requests whose starts and completions somebody wants to know, whether the program is recorded or not.
struct WatchedRequests {
    std::atomic<uint32_t> count{0};  ///< requests that are watched now: while it is 0 nothing is reported
    void (*started)(MPI_Request) noexcept = nullptr;
    void (*completed)(MPI_Request) noexcept = nullptr;
    void (*forgotten)(MPI_Request) noexcept = nullptr;  ///< freed by the program
};

struct Requests {
    HandleMap<Persistent> persistent;
    WatchedRequests watched;
};
inline constinit Requests requests;

inline void remember_request(MPI_Request request, const Persistent& what) noexcept {
    requests.persistent.put(number(request), what);
}
inline bool find_request(MPI_Request request, Persistent& what) noexcept {
    return requests.persistent.get(number(request), what);
}
inline void forget_request(MPI_Request request) noexcept { requests.persistent.erase(number(request)); }

inline bool requests_watched() noexcept {
    return requests.watched.count.load(std::memory_order_relaxed) != 0;
}

}  // namespace mpiric::world
