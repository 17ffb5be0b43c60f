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

/// Bytes of data in one element. Only for a type that the library has just accepted.
[[gnu::always_inline]] inline uint64_t size_of(MPI_Datatype type) noexcept {
    static thread_local RememberedSize remembered[16];
    const uint64_t handle = number(type);
    RememberedSize& here = remembered[few_bits(type)];
    if (here.handle == handle && here.generation == generation.load(std::memory_order_acquire)) [[likely]]
        return here.bytes;
    return find_size(type, here);
}

}  // namespace mpiric::world
