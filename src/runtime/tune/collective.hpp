// The collectives that can be tuned, and the sizes their calls are told apart by (spec/formats/policy.md).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace mpiric::tune {

enum class Collective : uint8_t {
    allreduce,
    bcast,
    reduce,
    barrier,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    alltoallw,
    gather,
    gatherv,
    scatter,
    scatterv,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    count
};

inline constexpr std::string_view collective_names[] = {
    "allreduce",  "bcast",    "reduce",    "barrier",        "allgather",
    "allgatherv", "alltoall", "alltoallv", "alltoallw",      "gather",
    "gatherv",    "scatter",  "scatterv",  "reduce_scatter", "reduce_scatter_block",
    "scan",       "exscan"};
inline constexpr uint32_t collective_count = uint32_t(Collective::count);
static_assert(std::size(collective_names) == collective_count);

constexpr std::string_view name_of(Collective collective) noexcept {
    return collective_names[uint32_t(collective)];
}

/// Of that name; `count` when there is none.
constexpr Collective collective_of(std::string_view name) noexcept {
    for (uint32_t at = 0; at < collective_count; ++at)
        if (collective_names[at] == name)
            return Collective(at);
    return Collective::count;
}

/// Whether numbers are added up: the order can then show in the result.
constexpr bool reduces(Collective collective) noexcept {
    using enum Collective;
    return collective == allreduce || collective == reduce || collective == reduce_scatter ||
           collective == reduce_scatter_block || collective == scan || collective == exscan;
}

/// Sizes are learnt in classes: 0, then [2^(k-1), 2^k) bytes as class k; the last one has no end.
inline constexpr uint32_t class_count = 40;
constexpr uint32_t class_of(uint64_t bytes) noexcept {
    const auto width = uint32_t(std::bit_width(bytes));
    return width < class_count ? width : class_count - 1;
}
constexpr uint64_t class_begin(uint32_t size_class) noexcept {
    return size_class == 0 ? 0 : uint64_t(1) << (size_class - 1);
}
/// First size beyond the class.
constexpr uint64_t class_end(uint32_t size_class) noexcept {
    return size_class + 1 == class_count ? UINT64_MAX : uint64_t(1) << size_class;
}

}  // namespace mpiric::tune
