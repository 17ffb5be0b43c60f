#include "world/datatypes.hpp"

namespace mpiric::world {

constinit std::atomic<uint32_t> generation{1};
thread_local constinit RememberedSize remembered_sizes[16]{};

uint64_t find_size(MPI_Datatype type, RememberedSize& here) noexcept {
    const uint32_t now = generation.load(std::memory_order_acquire);
    int bytes = 0;
    if (type == handles.type_null || library.Type_size(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    here = {number(type), now, uint64_t(bytes)};
    return here.bytes;
}

}  // namespace mpiric::world
