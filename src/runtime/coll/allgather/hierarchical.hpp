// An allgather of whole nodes' blocks between leaders; algorithms differ in how the ranks of a node share
// memory.
#pragma once

#include "coll/allgather/stages.hpp"
#include "coll/bcast/stages.hpp"
#include "coll/board.hpp"

namespace mpiric::coll {

/// The row of all blocks, cut by nodes: the ranks of a node follow one another.
class NodeRow {
  public:
    NodeRow(const Team& team, char* data, const Blocks& blocks, NodeBcast within)
        : team_(team), data_(data), blocks_(by_node(team, blocks)), within_(within) {}

    char* data() const noexcept { return data_; }
    /// Blocks of the nodes.
    const Blocks& blocks() const noexcept { return blocks_; }
    char* at(int node) const noexcept { return data_ + blocks_.begin(node); }
    /// Of some nodes that follow one another.
    uint64_t bytes(int node, int nodes = 1) const noexcept {
        return blocks_.begin(node + nodes) - blocks_.begin(node);
    }
    const Team& team() const noexcept { return team_; }
    int leader(int node) const noexcept { return team_.leaders()[node]; }
    /// Shows the node what its leader has of some nodes.
    int show(int node, int nodes = 1) const noexcept {
        return team_.local().size > 1 ? within_(team_, 0, at(node), bytes(node, nodes)) : MPI_SUCCESS;
    }

  private:
    const Team& team_;
    char* data_;
    Blocks blocks_;
    NodeBcast within_;
};

/// Around a ring; each step's blocks go to the node while the next are under way.
int ring_of_nodes(const NodeRow& row);
/// For powers of two.
int doubling_of_nodes(const NodeRow& row);

}  // namespace mpiric::coll
