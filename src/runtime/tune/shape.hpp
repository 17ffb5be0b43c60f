// The shape of a communicator in policies: its size and the distribution of its ranks over the nodes.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace mpiric::tune {

/// Distribution of ranks over the nodes; the first that holds.
enum class Distribution : uint8_t { block, cyclic, mixed };

constexpr std::string_view name_of(Distribution distribution) noexcept {
    return distribution == Distribution::block    ? "block"
           : distribution == Distribution::cyclic ? "cyclic"
                                                  : "mixed";
}

struct Shape {
    uint32_t ranks = 0, nodes = 0, ranks_per_node = 0;
    Distribution distribution = Distribution::block;
    uint64_t placement = 0;  ///< hash of the nodes of its ranks: see spec/formats/policy.md
};

/// The nodes of the job: the number of the node of each world rank.
struct Nodes {
    std::span<const uint32_t> of_rank;
    uint32_t count = 0;
};

/// Numbers nodes in the order in which they first appear, and returns their count. `labels`: for each world
/// rank any number that tells its node apart; replaced by the node's number.
uint32_t number_nodes(std::span<uint32_t> labels);

/// Shape of the communicator whose rank r is world rank `members[r]`.
Shape shape_of(std::span<const int32_t> members, const Nodes& nodes);

/// Hash of the ranks of a communicator in their order: equal ones learn together.
uint64_t identity_of(std::span<const int32_t> members);

// The size classes of calls: each is learned by itself.

/// Class 0 is 0 bytes, class k is [2^(k-1), 2^k); the last has no end.
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
