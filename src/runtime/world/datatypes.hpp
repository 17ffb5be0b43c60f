// Sizes of datatypes, remembered per thread: asking the library at each call would cost more than the rest of
// the wrapper.
#pragma once

#include "world/library.hpp"

#include <atomic>
#include <bit>
#include <cstdint>

namespace mpiric::world {

/// Changes when a handle has been given back: what threads remember from before no longer counts.
extern constinit std::atomic<uint32_t> generation;

inline void forget_remembered() noexcept { generation.fetch_add(1, std::memory_order_release); }

template <class Handle> uint64_t number(Handle handle) noexcept {
    if constexpr (sizeof(Handle) == sizeof(uint64_t))
        return std::bit_cast<uint64_t>(handle);
    else
        return std::bit_cast<uint32_t>(handle);
}

/// Of a handle, for a table of 16. Handles that are numbers count up; the others are addresses.
template <class Handle> uint64_t few_bits(Handle handle) noexcept {
    const uint64_t all = number(handle);
    return (sizeof(Handle) == sizeof(uint32_t) ? all : all ^ all >> 4 ^ all >> 8) & 15;
}

struct alignas(32) RememberedSize {
    uint64_t handle;
    uint32_t generation;
    uint64_t bytes;
};

/// Asks the library, and remembers.
uint64_t find_size(MPI_Datatype type, RememberedSize& here) noexcept;

/// Sizes that this thread has asked for.
extern thread_local constinit RememberedSize remembered_sizes[16];

inline RememberedSize& place_of_size(MPI_Datatype type) noexcept { return remembered_sizes[few_bits(type)]; }

inline bool is_of(const RememberedSize& here, MPI_Datatype type) noexcept {
    return here.handle == number(type) && here.generation == generation.load(std::memory_order_acquire);
}

/// Bytes of data in one element; 0 where the library has to be asked.
[[gnu::always_inline]] inline uint64_t remembered_size(MPI_Datatype type) noexcept {
    const RememberedSize& here = place_of_size(type);
    return is_of(here, type) ? here.bytes : 0;
}

/// Bytes of data in one element. Only for a type that the library has just accepted.
[[gnu::always_inline]] inline uint64_t size_of(MPI_Datatype type) noexcept {
    RememberedSize& here = place_of_size(type);
    if (is_of(here, type)) [[likely]]
        return here.bytes;
    return find_size(type, here);
}

}  // namespace mpiric::world
