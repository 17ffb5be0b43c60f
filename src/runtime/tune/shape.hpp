// What a communicator is like, as far as a policy may ask: its size and how it lies over the nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mpiric::tune {

/// How ranks follow one another over the nodes; the first that holds.
enum class Order : uint8_t { block, cyclic, mixed };

constexpr std::string_view name_of(Order order) noexcept {
    return order == Order::block ? "block" : order == Order::cyclic ? "cyclic" : "mixed";
}

struct Shape {
    uint32_t ranks = 0, nodes = 0, ranks_per_node = 0;
    Order order = Order::block;
    uint64_t place = 0;  ///< which part of the job: see spec/formats/policy.md
};

/// The nodes of the job: the number of the node of each world rank.
struct Nodes {
    std::span<const uint32_t> of_rank;
    uint32_t count = 0;
};

/// Numbers nodes in the order in which they first appear. `labels` holds any number that tells nodes apart,
/// for each world rank, and is replaced by the numbers; returns how many there are.
uint32_t number_nodes(std::span<uint32_t> labels);

/// Shape of the communicator whose rank r is world rank `members[r]`.
Shape shape_of(std::span<const int32_t> members, const Nodes& nodes);

/// FNV-1a over unsigned 32-bit little-endian numbers.
inline constexpr uint64_t hash_basis = 0xcbf29ce484222325;
constexpr uint64_t hash_number(uint64_t hash, uint32_t number) noexcept {
    for (int byte = 0; byte < 4; ++byte, number >>= 8)
        hash = (hash ^ (number & 0xff)) * 0x100000001b3;
    return hash;
}

/// Who is in it, in which order: equal communicators learn together.
uint64_t identity_of(std::span<const int32_t> members);

}  // namespace mpiric::tune
