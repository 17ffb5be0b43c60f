// What several algorithms ask of a shape.
#pragma once

#include "coll/algorithm.hpp"

#include <bit>

namespace mpiric::coll {

/// Whether `members` is a power of two.
inline bool is_power(int members) noexcept { return std::has_single_bit(unsigned(members)); }

/// Whether all ranks are on one node and share memory.
inline bool on_one_node(const Shape& shape) noexcept {
    return shape.layout.nodes == 1 && shape.layout.shared_memory;
}

/// Whether all ranks are on one node, and each may read the buffers of the others.
inline bool reads_directly(const Shape& shape) noexcept {
    return on_one_node(shape) && shape.layout.direct_reads;
}

/// Whether there are so many ranks that a radix differs from a smaller one.
template <int ranks> bool on_more_than(const Shape& shape) noexcept { return shape.layout.size > ranks; }

/// Whether there are several nodes, at least one with several ranks.
inline bool has_levels(const Shape& shape) noexcept {
    return shape.layout.nodes > 1 && shape.layout.most_per_node > 1 && shape.layout.shared_memory;
}

/// Whether the ranks of some node sit in several NUMA domains or packages, at least one with several ranks.
inline bool has_memory_levels(const Shape& shape) noexcept {
    return shape.layout.memory_levels > 1 && shape.layout.shared_memory;
}

/// Whether all nodes have equally many ranks.
inline bool is_uniform(const Shape& shape) noexcept {
    return shape.layout.most_per_node == shape.layout.least_per_node;
}

inline bool is_commutative(const Shape& shape) noexcept { return shape.commutative; }

/// Whether partial results of nodes can be joined: in any order, or in the order of ranks.
inline bool nodes_join(const Shape& shape) noexcept { return shape.commutative || shape.layout.consecutive; }

/// Whether partial results of nodes and of the levels inside them can be joined.
inline bool levels_join(const Shape& shape) noexcept {
    return shape.commutative || (shape.layout.consecutive && shape.layout.levels_consecutive);
}

/// Bytes of the blocks of all ranks together, where `bytes` are those of one.
inline uint64_t all_blocks(const Shape& shape) noexcept { return shape.bytes * uint64_t(shape.layout.size); }

/// Whether the pieces of a slot, one for each rank of a node, hold whole elements, gaps included.
inline bool elements_fit(const Shape& shape) noexcept {
    const uint64_t room = shape.layout.slot_bytes / uint64_t(2 * shape.layout.most_per_node);
    return shape.count > 0 && (shape.dense ? shape.span / shape.count : shape.span) <= room;
}

/// Whether the ranks of one node can show one another their operands.
inline bool reduces_on_node(const Shape& shape) noexcept { return on_one_node(shape) && elements_fit(shape); }

/// And can divide the vector among themselves.
inline bool divides_on_node(const Shape& shape) noexcept {
    return reduces_on_node(shape) && shape.dense && shape.count >= uint64_t(shape.layout.size);
}

inline uint64_t whole_span(const Shape& shape) noexcept { return shape.span; }
inline uint64_t two_spans(const Shape& shape) noexcept { return 2 * shape.span; }

}  // namespace mpiric::coll
