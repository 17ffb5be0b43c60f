// k-nomial trees, members counted from the root: a member's subtree consists of the members that follow it,
// and its children are k^s, 2k^s, … (k − 1)k^s further for each s within.
#pragma once

#include "coll/message.hpp"

#include <algorithm>
#include <cstdint>

namespace mpiric::coll {

/// One rank in the tree of some root.
struct Knomial {
    Group group;
    int size, root, radix;
    int relative_rank;  ///< this rank, counted from the root
    int reach = 1;      ///< members r … r + reach − 1 are the subtree of r, as far as there are any

    Knomial(const Group& group, int root, int radix) noexcept
        : group(group), size(group.size), root(root), radix(radix),
          relative_rank((group.rank - root + size) % size) {
        while (reach < size && relative_rank % (reach * radix) == 0)
            reach *= radix;
    }
    Knomial(const Arguments& call, int radix) noexcept : Knomial(call.team.everyone(), call.root, radix) {}

    int parent() const noexcept { return relative_rank - relative_rank % (reach * radix); }
    /// The rank in the team of a member.
    int rank(int member) const noexcept { return group[(member + root) % size]; }
    /// How many members a child's subtree has whose step is this.
    uint64_t members(int child, int step) const noexcept { return uint64_t(std::min(step, size - child)); }
    /// Sends the blocks of this rank's subtree to its parent, or gets them from it.
    int hand_up(const Arguments& call, const char* row, uint64_t block) const noexcept {
        return relative_rank ? send(call.team, row, block * members(relative_rank, reach), rank(parent()))
                             : MPI_SUCCESS;
    }
    int get(const Arguments& call, char* row, uint64_t block) const noexcept {
        return relative_rank ? receive(call.team, row, block * members(relative_rank, reach), rank(parent()))
                             : MPI_SUCCESS;
    }
    /// One after the last child of that step.
    int end_of_children(int step) const noexcept { return std::min(relative_rank + radix * step, size); }
};

}  // namespace mpiric::coll
