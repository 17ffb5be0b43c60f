// Asks the library for sizes of datatypes, and for their elements.
#include "world/datatypes.hpp"

#include "profile/context.hpp"

#include <string_view>

namespace mpiric::world {
namespace {

ElementKind kind_of(std::string_view name) noexcept {
    const auto begins = [&](auto... some) { return (name.starts_with(some) || ...); };
    // Pairs of unlike numbers.
    if (name == "FLOAT_INT" || name == "LONG_INT" || name == "SHORT_INT" || name == "DOUBLE_INT")
        return ElementKind::other;
    if (begins("REAL", "DOUBLE", "FLOAT"))
        return ElementKind::floating;
    if (begins("UNSIGNED", "UINT"))
        return ElementKind::unsigned_integer;
    if (begins("INT", "LONG", "SHORT", "SIGNED", "AINT", "COUNT", "OFFSET", "LOGICAL"))
        return ElementKind::signed_integer;
    return ElementKind::other;
}

/// Elements of a predefined type without holes, by its name.
Element element_named(std::string_view name, uint64_t bytes) noexcept {
    name.remove_prefix(name.starts_with("MPI_") ? 4 : 0);
    // Of 16 bytes 10 are the number, the others are whatever was there.
    if (name.find("LONG_DOUBLE") != std::string_view::npos)
        return {ElementKind::scattered, 0};
    const bool is_complex = name.find("COMPLEX") != std::string_view::npos;
    const bool is_pair = name.starts_with('2');
    name.remove_prefix(is_pair ? 1 : 0);
    const uint64_t width = is_complex || is_pair ? bytes / 2 : bytes;
    return {is_complex ? ElementKind::floating : kind_of(name), uint8_t(width < 256 ? width : 0)};
}

}  // namespace

uint64_t find_size(MPI_Datatype type, CachedSize& cached) noexcept {
    const uint32_t now = caches.generation.load(std::memory_order_acquire);
    int bytes = 0;
    if (type == handles.type_null || library.Type_size(type, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    cached = {number(type), now, {}, uint64_t(bytes)};
    runtime.recorder.datatype(number(type), uint64_t(bytes));
    return cached.bytes;
}

Element find_element(MPI_Datatype type, uint64_t bytes) noexcept {
    constexpr Element scattered = {ElementKind::scattered, 0};
    int integers = 0, addresses = 0, types = 0, combiner = 0, length = 0;
    MPI_Aint begin = 0, extent = 0;
    char name[MPI_MAX_OBJECT_NAME + 1] = "";
    if (library.Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
        combiner != MPI_COMBINER_NAMED || library.Type_get_extent(type, &begin, &extent) != MPI_SUCCESS ||
        begin != 0 || uint64_t(extent) != bytes || library.Type_get_name(type, name, &length) != MPI_SUCCESS)
        return scattered;
    return element_named(name, bytes);
}

}  // namespace mpiric::world
