// What several algorithms ask of a shape.
#pragma once

#include "coll/algorithm.hpp"

#include <bit>

namespace mpiric::coll {

/// Of two.
inline bool is_power(int members) noexcept { return std::has_single_bit(unsigned(members)); }

/// All ranks on one node, with memory between them.
inline bool on_one_node(const Shape& shape) noexcept {
    return shape.layout.nodes == 1 && shape.layout.shared_memory;
}

/// The same, and each may read the others' buffers.
inline bool reads_directly(const Shape& shape) noexcept {
    return on_one_node(shape) && shape.layout.direct_reads;
}

/// On so few ranks a radix makes no difference to a smaller one.
template <int ranks> bool on_more_than(const Shape& shape) noexcept { return shape.layout.size > ranks; }

/// Several nodes, of which one at least has several ranks.
inline bool has_levels(const Shape& shape) noexcept {
    return shape.layout.nodes > 1 && shape.layout.most_per_node > 1 && shape.layout.shared_memory;
}

/// Some node's ranks sit in several NUMA domains or packages, of which one at least has several of them.
inline bool has_memory_levels(const Shape& shape) noexcept {
    return shape.layout.memory_levels > 1 && shape.layout.shared_memory;
}

/// Every node has as many ranks.
inline bool is_uniform(const Shape& shape) noexcept {
    return shape.layout.most_per_node == shape.layout.least_per_node;
}

inline bool is_commutative(const Shape& shape) noexcept { return shape.commutative; }

/// Partial results of nodes can be joined: in any order, or in the order of ranks.
inline bool nodes_join(const Shape& shape) noexcept { return shape.commutative || shape.layout.consecutive; }

/// The same for nodes and the levels inside them.
inline bool levels_join(const Shape& shape) noexcept {
    return shape.commutative || (shape.layout.consecutive && shape.layout.levels_consecutive);
}

/// Bytes of the blocks of all ranks together, where `bytes` are those of one.
inline uint64_t all_blocks(const Shape& shape) noexcept { return shape.bytes * uint64_t(shape.layout.size); }

/// Pieces of a slot, one for each rank of a node, hold elements with all that they touch.
inline bool elements_fit(const Shape& shape) noexcept {
    const uint64_t room = shape.layout.slot_bytes / uint64_t(2 * shape.layout.most_per_node);
    return shape.count > 0 && (shape.dense ? shape.span / shape.count : shape.span) <= room;
}

}  // namespace mpiric::coll
