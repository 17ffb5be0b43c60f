// Sizes of datatypes, cached per thread: asking the library at each call would be slow.
#pragma once

#include "base/element.hpp"
#include "world/library.hpp"
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>

namespace mpiric::world {

template <class Handle> uint64_t number(Handle handle) noexcept {
    if constexpr (sizeof(Handle) == sizeof(uint64_t))
        return std::bit_cast<uint64_t>(handle);
    else
        return std::bit_cast<uint32_t>(handle);
}

/// Entry of a handle in a cache of 16. Handles that are numbers count up; the others are addresses.
template <class Handle> uint64_t cache_index(Handle handle) noexcept {
    const uint64_t all = number(handle);
    return (sizeof(Handle) == sizeof(uint32_t) ? all : all ^ all >> 4 ^ all >> 8) & 15;
}

/// The size of the type that was sent last, for processes where one thread at a time calls MPI.
struct LatestSize {
    uint64_t handle = no_handle;
    uint64_t bytes = 0;

    static constexpr uint64_t no_handle = ~uint64_t(0);
};

struct Caches {
    std::atomic<uint32_t> generation{1};  ///< changes when a handle is freed: earlier cache entries are void
    LatestSize latest_size;
};
inline constinit Caches caches;

inline void invalidate_caches() noexcept {
    caches.generation.fetch_add(1, std::memory_order_release);
    __atomic_store_n(&caches.latest_size.handle, LatestSize::no_handle, __ATOMIC_RELAXED);
}

struct alignas(32) CachedSize {
    uint64_t handle;
    uint32_t generation;
    Element element;  ///< once it was asked for
    uint64_t bytes;
};

struct CommInfo;
struct alignas(32) CachedCommInfo {
    uint64_t handle;
    uint32_t generation;
    CommInfo* info;
};

/// Caches of this thread, indexed by cache_index().
struct ThreadCaches {
    CachedSize sizes[16];
    CachedCommInfo comms[16];
};
inline thread_local constinit ThreadCaches thread_caches{};

/// Asks the library, and caches the answer.
uint64_t find_size(MPI_Datatype type, CachedSize& cached) noexcept;

inline bool is_current(const CachedSize& cached, MPI_Datatype type) noexcept {
    return cached.handle == number(type) &&
           cached.generation == caches.generation.load(std::memory_order_acquire);
}

/// Bytes of data in one element; 0 where the library has to be asked.
[[gnu::always_inline]] inline uint64_t cached_size(MPI_Datatype type) noexcept {
    const CachedSize& cached = thread_caches.sizes[cache_index(type)];
    return is_current(cached, type) ? cached.bytes : 0;
}

/// Bytes of data in one element. Only for a type that the library has just accepted.
[[gnu::always_inline]] inline uint64_t size_of(MPI_Datatype type) noexcept {
    CachedSize& cached = thread_caches.sizes[cache_index(type)];
    if (is_current(cached, type)) [[likely]]
        return cached.bytes;
    return find_size(type, cached);
}

/// Asks the library what a type consists of.
Element find_element(MPI_Datatype type, uint64_t bytes) noexcept;

/// Elements of a type. Only for a type that the library has just accepted.
inline Element element_of(MPI_Datatype type) noexcept {
    const uint64_t bytes = size_of(type);
    CachedSize& cached = thread_caches.sizes[cache_index(type)];
    if (!is_current(cached, type))
        return find_element(type, bytes);
    if (cached.element.kind == ElementKind::unknown)
        cached.element = find_element(type, bytes);
    return cached.element;
}

// How many bytes a call moves, by its counts and types, and where in a file.

/// Bytes of as many elements as the product of the factors. An unused type may be invalid, and is not asked.
template <std::integral... Factors>
[[gnu::always_inline]] inline uint64_t payload(MPI_Datatype type, Factors... factors) noexcept {
    if (((factors <= 0) || ...))
        return 0;
    return (uint64_t(factors) * ...) * size_of(type);
}

/// Bytes of an array of counts of one type.
template <std::integral Count>
uint64_t payload_of_each(const Count counts[], MPI_Datatype type, int32_t entries) noexcept {
    uint64_t elements = 0;
    for (int32_t at = 0; at < entries; ++at)
        elements += counts[at] > 0 ? uint64_t(counts[at]) : 0;
    return elements ? elements * size_of(type) : 0;
}

/// Bytes of an array of counts, each of its own type.
template <std::integral Count>
uint64_t payload_of_each(const Count counts[], const MPI_Datatype types[], int32_t entries) noexcept {
    uint64_t bytes = 0;
    for (int32_t at = 0; at < entries; ++at)
        bytes += payload(types[at], counts[at]);
    return bytes;
}

/// How the volume of a call is found.
struct Volume {
    template <std::integral... Factors>
    [[gnu::always_inline]] static uint64_t payload(MPI_Datatype type, Factors... factors) noexcept {
        return world::payload(type, factors...);
    }
    template <class... Arguments>
    [[gnu::always_inline]] static uint64_t payload_of_each(const Arguments&... arguments) noexcept {
        return world::payload_of_each(arguments...);
    }
};

/// Where an access begins, in elementary types of the file's view.
struct FilePlace {
    enum Kind { unknown, explicit_offset, behind_pointer } kind = unknown;
    int64_t offset = 0;
};

}  // namespace mpiric::world
