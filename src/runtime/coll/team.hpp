// The ranks of one communicator of the program, as algorithms see them: a communicator of ours to send on,
// who shares a node with whom, how near they sit there, and the memory they share.
#pragma once

#include "coll/algorithm.hpp"
#include "coll/levels.hpp"
#include <memory>
#include <span>
#include <vector>

namespace mpiric::coll {

// Some ranks of a team in an order of their own: the stages of hierarchical algorithms run on groups.

struct Group {
    const int* ranks = nullptr;  ///< rank in the team of each member
    int size = 0;
    int rank = -1;  ///< this process's place in `ranks`; -1: not a member

    int operator[](int member) const noexcept { return ranks[member]; }
};

class Board;

/// Makes communicators of ranks that share memory, collectively; the caller frees them.
using NodeSplit = int (*)(MPI_Comm comm, int rank, MPI_Comm* node);
int split_by_memory(MPI_Comm comm, int rank, MPI_Comm* node);

class Team {
  public:
    /// Collective over `comm`, which must be ours alone (its own context, ERRORS_RETURN set) and outlive the
    /// team. Null on every rank when any rank could not: then the library's own algorithms remain. `seat` is
    /// this rank's.
    static Team* make(MPI_Comm comm, NodeSplit split = split_by_memory, Seat seat = {}) noexcept;

    MPI_Comm comm() const noexcept { return comm_; }
    int rank() const noexcept { return everyone_.rank; }
    int size() const noexcept { return everyone_.size; }
    const Layout& layout() const noexcept { return layout_; }

    const Group& everyone() const noexcept { return everyone_; }
    /// The ranks of this node, ascending.
    const Group& local() const noexcept { return local_; }
    /// The lowest rank of each node, in the order of nodes, which are numbered by their lowest ranks.
    const Group& leaders() const noexcept { return leaders_; }
    int node() const noexcept { return node_of_[size_t(rank())]; }
    int node_of(int rank) const noexcept { return node_of_[size_t(rank)]; }
    /// The ranks of a node, ascending.
    Group on_node(int node) const noexcept;
    /// Position of a rank among the ranks of its node.
    int local_rank(int rank) const noexcept { return local_rank_[size_t(rank)]; }

    /// The levels of memory of this node, as a tree of local ranks; valid until the next call.
    const Tree& tree(int local_root) const noexcept { return levels_.tree(local_root, local_.rank); }

    /// Memory shared with the ranks of this node; only when layout().shared_memory.
    Board& board() const noexcept { return *board_; }

    ~Team();

  private:
    struct Introduction;

    /// Takes all memory that a team ever has, but for the board; raises std::bad_alloc.
    Team(MPI_Comm comm, int rank, int size);
    bool learn_nodes(NodeSplit split, Seat seat, std::span<Introduction> all) noexcept;
    /// `seats` is room for one of each rank.
    void learn_levels(std::span<const Introduction> all, std::span<Seat> seats) noexcept;

    MPI_Comm comm_{};
    Layout layout_;
    Group everyone_, local_, leaders_;
    std::vector<int> identity_, node_of_, local_rank_, by_node_, node_begin_, leader_ranks_;
    mutable Levels levels_;  ///< levels of this node; keeps the last tree
    std::unique_ptr<Board> board_;
};

}  // namespace mpiric::coll
