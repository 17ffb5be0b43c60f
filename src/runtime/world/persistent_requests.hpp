// Persistent requests: the communicator, peer and bytes of each start.
#pragma once

#include "base/handle_map.hpp"
#include "world/datatypes.hpp"

#include <cstdint>

namespace mpiric::world {

struct Persistent {
    uint32_t communicator = 0;
    uint64_t bytes = 0;
    int32_t world_rank = -1;
    bool is_message = false;
    bool is_receive = false;
};

inline constinit HandleMap<Persistent, 4096> persistent_requests;

inline void remember_request(MPI_Request request, const Persistent& what) noexcept {
    persistent_requests.put(number(request), what);
}
inline bool find_request(MPI_Request request, Persistent& what) noexcept {
    return persistent_requests.get(number(request), what);
}
inline void forget_request(MPI_Request request) noexcept { persistent_requests.erase(number(request)); }

}  // namespace mpiric::world
