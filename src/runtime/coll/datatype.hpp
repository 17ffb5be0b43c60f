// Positions of the bytes of a datatype's elements.
#pragma once

#include "world/datatypes.hpp"
#include "world/library.hpp"

#include <cstdint>

namespace mpiric::coll {

struct Geometry {
    MPI_Aint lower = 0, extent = 0;            ///< bounds including the markers of resized types
    MPI_Aint true_lower = 0, true_extent = 0;  ///< bounds of the data
    uint64_t size = 0;                         ///< bytes of data in one element
    /// Elements follow one another without a gap from the buffer's address on.
    bool dense() const noexcept {
        return true_lower == 0 && extent == true_extent && uint64_t(extent) == size;
    }
};

struct RememberedGeometry {
    uint64_t handle;
    uint32_t generation;
    Geometry geometry;
};

/// Remembered as sizes are: three questions to the library cost more than short calls.
inline Geometry geometry_of(MPI_Datatype type) noexcept {
    static thread_local RememberedGeometry remembered[16];
    const uint64_t handle = world::number(type);
    RememberedGeometry& cached = remembered[world::cache_index(handle)];
    const uint32_t now = world::caches.generation.load(std::memory_order_acquire);
    if (cached.handle == handle && cached.generation == now && cached.geometry.size) [[likely]]
        return cached.geometry;
    Geometry known;
    world::library.Type_get_extent(type, &known.lower, &known.extent);
    world::library.Type_get_true_extent(type, &known.true_lower, &known.true_extent);
    known.size = world::size_of(type);
    cached = {handle, now, known};
    return known;
}

/// Bytes from the first to the last that `count` elements touch.
inline uint64_t span_of(const Geometry& type, MPI_Count count) noexcept {
    if (count <= 0)
        return 0;
    const MPI_Aint stride = type.extent < 0 ? -type.extent : type.extent;
    return uint64_t(type.true_extent) + uint64_t(stride) * uint64_t(count - 1);
}

/// Distance from the buffer's address to the first byte that is touched.
inline MPI_Aint offset_of(const Geometry& type, MPI_Count count) noexcept {
    return type.true_lower + (type.extent < 0 ? type.extent * MPI_Aint(count - 1) : 0);
}

}  // namespace mpiric::coll
