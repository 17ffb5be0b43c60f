// Allgather: stages of the algorithms of this folder and of algorithms that end with an allgather.
#pragma once

#include "coll/bcast/stages.hpp"
#include "coll/blocks.hpp"
#include "coll/board.hpp"
#include "coll/buffers.hpp"

namespace mpiric::coll {

/// Block first + r of `data`, in bytes, comes from local rank r, through the board.
int shared_allgather(const Team& team, char* data, const Blocks& blocks, int first = 0) noexcept;
/// Block r of `data` comes from member r, by messages. See the file of the same name.
int ring_allgather(const Team& team, const Group& group, char* data, const Blocks& blocks) noexcept;
/// The same for powers of two.
int recursive_doubling_allgather(const Team& team, const Group& group, char* data,
                                 const Blocks& blocks) noexcept;

/// This rank's input and output of an allgather or allgatherv, as one row of bytes.
class Gathering {
  public:
    explicit Gathering(const Arguments& call);

    char* data() const noexcept { return data_; }
    const Blocks& blocks() const noexcept { return blocks_; }
    /// Puts this rank's block into its place in data().
    int begin() noexcept;
    /// Puts data() into the program's buffer.
    int end() noexcept;

  private:
    const Arguments& call_;
    Geometry type_;
    RankBlocks<char> displacements_;
    Blocks blocks_;
    bool direct_;  ///< the program's buffer is that row
    Scratch whole_;
    char* data_;
};

/// Runs a stage on that row.
template <class Stage> int on_row(const Arguments& call, Stage stage) {
    Gathering gathering{call};
    MPIRIC_TRY(gathering.begin());
    MPIRIC_TRY(stage(gathering.data(), gathering.blocks()));
    return gathering.end();
}

/// Runs a stage of all ranks so.
template <int (*stage)(const Team&, const Group&, char*, const Blocks&)>
int on_row_of_all(const Arguments& call) {
    return on_row(call, [&](char* data, const Blocks& blocks) {
        return stage(call.team, call.team.everyone(), data, blocks);
    });
}

/// The division by nodes, where the ranks of each follow one another.
inline Blocks by_node(const Team& team, const Blocks& blocks) {
    const Group& leaders = team.leaders();
    std::vector<MPI_Count> sizes(size_t(leaders.size));
    for (int node = 0; node < leaders.size; ++node)
        sizes[size_t(node)] =
            MPI_Count(blocks.begin(node + 1 < leaders.size ? leaders[node + 1] : team.size()) -
                      blocks.begin(leaders[node]));
    return Blocks::of(Counts{sizes.data()}, leaders.size, 1);
}

/// Bytes of scratch memory a Gathering may take.
inline uint64_t gathering_scratch(const Workload& workload) noexcept {
    return workload.collective == Collective::allgather ? workload.bytes * uint64_t(workload.layout.size)
                                                        : workload.bytes;
}

// An allgather of whole nodes' blocks between leaders; algorithms differ in how a node shares memory.

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
