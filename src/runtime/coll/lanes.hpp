// Leaders: several ranks of each node each carry a part of the data between nodes. The l-th leaders of all
// nodes are a lane.
#pragma once

#include "coll/blocks.hpp"
#include "coll/suits.hpp"
#include "coll/team.hpp"

#include <vector>

namespace mpiric::coll {

/// The number of leaders where every rank of a node leads: for nodes with equally many ranks.
inline constexpr int all_ranks = 0;

class Lanes {
  public:
    /// `leaders` of each node, spread evenly over its ranks, and so over its sockets and network cards.
    Lanes(const Team& team, int leaders)
        : team_(team), leaders_(leaders == all_ranks ? team.local().size : leaders),
          ranks_(size_t(team.leaders().size)) {
        const Group& local = team.local();
        while (lane_ < leaders_ && first_of(lane_, local.size) != local.rank)
            ++lane_;
        if (leads())
            for (int node = 0; node < team.leaders().size; ++node) {
                const Group there = team.on_node(node);
                ranks_[size_t(node)] = there[first_of(lane_, there.size)];
            }
    }

    int leaders() const noexcept { return leaders_; }
    /// Whether this rank leads lane().
    bool leads() const noexcept { return lane_ < leaders_; }
    int lane() const noexcept { return lane_; }
    /// The ranks of that lane, in the order of nodes.
    Group group() const noexcept { return {ranks_.data(), int(ranks_.size()), team_.node()}; }

    /// The local ranks of a node with `ranks` of them are divided among its leaders: the first of a lane's is
    /// the leader.
    int first_of(int lane, int ranks) const noexcept { return lane * ranks / leaders_; }

    /// Data that all leaders share, a part for each, as a division among this node's ranks, empty for others.
    Blocks among(const Blocks& parts) const {
        const int ranks = team_.local().size;
        std::vector<MPI_Count> sizes(static_cast<size_t>(ranks));
        for (int lane = 0; lane < leaders_; ++lane)
            sizes[size_t(first_of(lane, ranks))] = MPI_Count(parts.size(lane));
        return Blocks::of(Counts{sizes.data()}, ranks, 1);
    }
    /// Data that all leaders share in parts as even as possible.
    Blocks among(uint64_t whole) const { return among(Blocks::even(whole, leaders_)); }

  private:
    const Team& team_;
    int leaders_, lane_ = 0;
    std::vector<int> ranks_;
};

/// Whether every node has at least `leaders` ranks, and some node more (or `all_ranks`).
template <int leaders> bool has_leaders(const Workload& workload) noexcept {
    if (leaders == all_ranks)
        return has_levels(workload) && is_uniform(workload);
    return has_levels(workload) && workload.layout.least_per_node >= leaders &&
           workload.layout.most_per_node > leaders;
}

/// Whether dividing saves more than the additional messages cost.
inline bool worth_dividing(uint64_t bytes) noexcept { return bytes >= 4096; }

}  // namespace mpiric::coll
