// How many bytes a call moves, by its counts and types, and where in a file.
#pragma once

#include "world/datatypes.hpp"

#include <concepts>
#include <cstdint>

namespace mpiric::world {

/// Bytes of as many elements as the product of the factors. A type of which nothing is sent may be invalid:
/// its size is not asked for.
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
