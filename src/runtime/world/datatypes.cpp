#include "world/datatypes.hpp"

namespace mpiric::world {

constinit std::atomic<uint32_t> generation{1};
thread_local constinit CachedSize cached_sizes[16]{};

uint64_t find_size(MPI_Datatype type, CachedSize& cached) noexcept {
    const uint32_t now = generation.load(std::memory_order_acquire);
    int bytes = 0;
    if (type == handles.type_null || library.Type_size(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    cached = {number(type), now, uint64_t(bytes)};
    return cached.bytes;
}

}  // namespace mpiric::world
