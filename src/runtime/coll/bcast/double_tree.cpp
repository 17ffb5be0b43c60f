// Two trees. Even segments travel down one binary tree, odd ones down another in which the inner ranks of the
// first are leaves: each rank sends about as much as it receives, so the full bandwidth is used.
//
// Cost: about 2⌈log₂ p⌉ α + nβ + terms of √(nαβ log p). Best for long messages on many ranks. Sanders, Speck,
// Träff: Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan. ParCo 2009.
#include "coll/bcast/stages.hpp"

#include <bit>

namespace mpiric::coll::bcast_double_tree {

/// In-order binary tree on 1 … count: a number with k trailing zero bits is on level k.
Neighbours in_order(int relative_rank, int count) noexcept {
    const int level = std::countr_zero(unsigned(relative_rank)), half = 1 << level;
    Neighbours found;
    const int top = int(std::bit_floor(unsigned(count)));
    if (relative_rank == top) {
        found.parent = 0;
    } else {
        // Up along the path until a number that exists: the tree may be cut off on its right.
        int up = relative_rank, step = half;
        do {
            up = (up & (2 * step)) ? up - step : up + step;
            step *= 2;
        } while (up > count);
        found.parent = up;
    }
    if (level == 0)
        return found;
    found.children[0] = relative_rank - half / 2;
    int right = relative_rank + half / 2;
    for (int step = half / 4; right > count && step > 0; step /= 2)
        right -= step;
    if (right <= count && right > relative_rank)
        found.children[1] = right;
    return found;
}

template <uint64_t segment> int run(const Arguments& call) {
    const int size = call.team.size(), others = size - 1,
              relative_rank = (call.team.rank() - call.root + size) % size;
    const int top = int(std::bit_floor(unsigned(others)));
    // The second tree is the first one with every number moved on by one, or seen in a mirror: leaves are odd
    // there and even here.
    auto second = [&](int number) { return others % 2 ? number % others + 1 : others + 1 - number; };
    auto back = [&](int number) {
        return others % 2 ? (number + others - 2) % others + 1 : others + 1 - number;
    };
    auto rank = [&](int number) { return number == nobody ? nobody : (number + call.root) % size; };
    Neighbours trees[2];
    if (relative_rank == 0) {
        trees[0].children[0] = rank(top);
        trees[1].children[0] = rank(second(top));
    } else {
        const Neighbours first = in_order(relative_rank, others),
                         other = in_order(back(relative_rank), others);
        trees[0] = {rank(first.parent), {rank(first.children[0]), rank(first.children[1])}};
        auto moved = [&](int number) { return number == nobody ? nobody : rank(second(number)); };
        trees[1] = {other.parent == 0 ? call.root : moved(other.parent),
                    {moved(other.children[0]), moved(other.children[1])}};
    }
    return pipeline(call, trees, segment);
}

bool suits(const Workload& workload) { return workload.bytes > 16384 && workload.layout.size > 3; }

MPIRIC_ALGORITHMS({Collective::bcast, "double_tree_16k", "Sanders et al. 2009", suits, packed_bytes,
                   run<16384>})

}  // namespace mpiric::coll::bcast_double_tree
