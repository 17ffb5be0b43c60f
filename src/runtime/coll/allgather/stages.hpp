// Allgather: stages of the algorithms of this folder and of algorithms that end with an allgather.
#pragma once

#include "coll/blocks.hpp"
#include "coll/buffers.hpp"
#include "coll/rank_blocks.hpp"

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

}  // namespace mpiric::coll
