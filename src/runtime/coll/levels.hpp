// The levels of memory inside one node: the ranks of a NUMA domain, the domains of a package, the packages.
// Partial results and copies follow them up and down one tree, so that data cross the border of a group once.
#pragma once

#include "base/seat.hpp"

#include <span>
#include <vector>

namespace mpiric::coll {

/// One rank's neighbours in the tree of its node, by their numbers among the node's ranks.
struct Tree {
    int parent = -1;                ///< leader of the next larger group; none: this is the root
    std::span<const int> children;  ///< ranks led by this one at any level, ascending
};

class Levels {
  public:
    /// Allocates all its memory, for nodes of at most `most_ranks` ranks; raises std::bad_alloc.
    explicit Levels(size_t most_ranks);

    /// Groups a node's ranks by the domains and packages that they share. A level unknown for one is ignored.
    void arrange(std::span<const Seat> seats) noexcept;

    /// At how many levels some group has several members; 1 where the ranks are not told apart.
    int depth() const noexcept { return depth_; }
    /// The ranks of each group follow one another.
    bool consecutive() const noexcept { return consecutive_; }

    /// As `rank` sees it: `root` leads its groups, the lowest rank all others. Valid until the next call.
    const Tree& tree(int root, int rank) noexcept;

  private:
    int parent_of(int rank, int root) const noexcept;

    // The lowest rank of the group of each rank. Each inner group is within one outer group.
    std::vector<int> inner_, outer_;
    std::vector<int> children_;
    int ranks_ = 0, depth_ = 1;
    bool consecutive_ = true;
    int root_ = -1, rank_ = -1;  ///< root and rank of tree_
    Tree tree_;
};

}  // namespace mpiric::coll
