// Persistent requests: what moves each time one is started.
#pragma once

#include "world/library.hpp"

#include <cstdint>

namespace mpiric::wrap {

struct Persistent {
    uint32_t communicator = 0;
    uint64_t bytes = 0;
    int32_t world_rank = -1;
    bool is_message = false;
    bool is_receive = false;
};

void remember_request(MPI_Request request, const Persistent& what) noexcept;
bool find_request(MPI_Request request, Persistent& what) noexcept;
void forget_request(MPI_Request request) noexcept;

}  // namespace mpiric::wrap
