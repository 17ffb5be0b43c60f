// Conditions on a workload that several algorithms share.
#pragma once

#include "coll/algorithm.hpp"

#include <bit>

namespace mpiric::coll {

/// Whether `members` is a power of two.
inline bool is_power(int members) noexcept { return std::has_single_bit(unsigned(members)); }

/// Whether all ranks are on one node and share memory.
inline bool on_one_node(const Workload& workload) noexcept {
    return workload.layout.nodes == 1 && workload.layout.shared_memory;
}

/// Whether all ranks are on one node, and each may read the buffers of the others.
inline bool reads_directly(const Workload& workload) noexcept {
    return on_one_node(workload) && workload.layout.direct_reads;
}

/// Whether there are more than `ranks` ranks, so that a radix differs from a smaller one.
template <int ranks> bool on_more_than(const Workload& workload) noexcept {
    return workload.layout.size > ranks;
}

/// Whether there are several nodes, at least one with several ranks.
inline bool has_levels(const Workload& workload) noexcept {
    return workload.layout.nodes > 1 && workload.layout.most_per_node > 1 && workload.layout.shared_memory;
}

/// Whether the ranks of some node sit in several NUMA domains or packages, at least one with several ranks.
inline bool has_memory_levels(const Workload& workload) noexcept {
    return workload.layout.memory_levels > 1 && workload.layout.shared_memory;
}

/// Whether all nodes have equally many ranks.
inline bool is_uniform(const Workload& workload) noexcept {
    return workload.layout.most_per_node == workload.layout.least_per_node;
}

inline bool is_commutative(const Workload& workload) noexcept { return workload.commutative; }

/// Whether partial results of nodes can be joined: in any order, or in the order of ranks.
inline bool nodes_join(const Workload& workload) noexcept {
    return workload.commutative || workload.layout.consecutive;
}

/// Whether partial results of nodes and of the levels inside them can be joined.
inline bool levels_join(const Workload& workload) noexcept {
    return workload.commutative || (workload.layout.consecutive && workload.layout.levels_consecutive);
}

/// Bytes of the blocks of all ranks together, where `bytes` is the size of one block.
inline uint64_t all_blocks(const Workload& workload) noexcept {
    return workload.bytes * uint64_t(workload.layout.size);
}

/// Whether the pieces of a slot, one for each rank of a node, hold whole elements, gaps included.
inline bool elements_fit(const Workload& workload) noexcept {
    const uint64_t room = workload.layout.slot_bytes / uint64_t(2 * workload.layout.most_per_node);
    return workload.count > 0 && (workload.dense ? workload.span / workload.count : workload.span) <= room;
}

/// Whether the ranks of one node can show one another their operands.
inline bool reduces_on_node(const Workload& workload) noexcept {
    return on_one_node(workload) && elements_fit(workload);
}

/// And can divide the vector among themselves.
inline bool divides_on_node(const Workload& workload) noexcept {
    return reduces_on_node(workload) && workload.dense && workload.count >= uint64_t(workload.layout.size);
}

inline uint64_t whole_span(const Workload& workload) noexcept { return workload.span; }
inline uint64_t two_spans(const Workload& workload) noexcept { return 2 * workload.span; }

// Numbers of ranks as products of small factors: algorithms by recursive multiplying take one factor a round.

/// The largest factor of `number` that is at most `radix`; 1 when there is none.
constexpr int largest_factor(int number, int radix) noexcept {
    for (int factor = radix; factor > 1; --factor)
        if (number % factor == 0)
            return factor;
    return 1;
}

/// `number` is a product of factors up to `radix`, of which one at least is larger than `smaller`: with that
/// radix it is another product, or none.
constexpr bool multiplies_out(int number, int radix, int smaller) noexcept {
    if (largest_factor(number, radix) <= smaller)
        return false;
    int left = number;
    for (int factor; (factor = largest_factor(left, radix)) > 1;)
        left /= factor;
    return left == 1;
}

}  // namespace mpiric::coll
