// Makes a team, collectively: which ranks share a node, their levels of memory, and the board of this node.
#include "coll/team.hpp"

#include "coll/board.hpp"
#include "world/agreement.hpp"

#include <algorithm>
#include <new>
#include <numeric>

namespace mpiric::coll {

using world::handles;
using world::library;

/// Data that each rank sends to all others when a team is made.
struct Team::Introduction {
    int leader;  ///< lowest rank of its node
    uint32_t slot_bytes;
    char has_board, direct_reads;
    int node;  ///< number of the node, set by its leader and counted by everyone
    Seat seat;
};

int split_by_memory(MPI_Comm comm, int rank, MPI_Comm* node) {
    return library.Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, handles.info_null, node);
}

Team::Team(MPI_Comm comm, int rank, int size)
    : comm_(comm), identity_(size_t(size)), node_of_(size_t(size)), local_rank_(size_t(size)),
      by_node_(size_t(size)), levels_(size_t(size)) {
    std::iota(identity_.begin(), identity_.end(), 0);
    everyone_ = {identity_.data(), size, rank};
    node_begin_.reserve(size_t(size) + 1);
    leader_ranks_.reserve(size_t(size));
}

Team::~Team() = default;

Group Team::on_node(int node) const noexcept {
    const int begin = node_begin_[size_t(node)], end = node_begin_[size_t(node) + 1];
    return {by_node_.data() + begin, end - begin, node == this->node() ? local_rank(rank()) : -1};
}

bool Team::learn_nodes(NodeSplit split, Seat seat, std::span<Introduction> all) noexcept {
    MPI_Comm node{};
    if (split(comm_, rank(), &node) != MPI_SUCCESS)
        return false;
    Introduction own{rank(), 0, 0, 0, 0, seat};
    library.Bcast(&own.leader, int(sizeof own.leader), handles.byte, 0, node);
    board_.reset(Board::make(node, comm_));
    library.Comm_free(&node);
    if (board_)
        own = {own.leader, board_->slot_bytes(), 1, board_->direct_reads(), 0, seat};
    if (library.Allgather(&own, sizeof own, handles.byte, all.data(), sizeof own, handles.byte, comm_) !=
        MPI_SUCCESS)
        return false;
    layout_.shared_memory = layout_.direct_reads = true;
    layout_.slot_bytes = UINT32_MAX;
    for (int other = 0; other < size(); ++other) {
        Introduction& introduction = all[size_t(other)];
        layout_.shared_memory &= introduction.has_board != 0;
        layout_.direct_reads &= introduction.direct_reads != 0;
        layout_.slot_bytes = std::min(layout_.slot_bytes, introduction.slot_bytes);
        if (introduction.leader == other) {
            introduction.node = int(leader_ranks_.size());
            leader_ranks_.push_back(other);
        }
        node_of_[size_t(other)] = all[size_t(introduction.leader)].node;
    }
    return true;
}

void Team::learn_levels(std::span<const Introduction> all, std::span<Seat> seats) noexcept {
    for (int at = 0; at < size(); ++at)
        seats[size_t(at)] = all[size_t(by_node_[size_t(at)])].seat;
    const auto learn = [&](int node) {
        const size_t begin = size_t(node_begin_[size_t(node)]), end = size_t(node_begin_[size_t(node) + 1]);
        levels_.arrange(seats.subspan(begin, end - begin));
    };
    for (int node = 0; node < layout_.nodes; ++node) {
        learn(node);
        layout_.memory_levels = std::max(layout_.memory_levels, levels_.depth());
        layout_.levels_consecutive &= levels_.consecutive();
    }
    learn(node());
}

Team* Team::make(MPI_Comm comm, NodeSplit split, Seat seat) noexcept {
    const world::ShadowComm shadow = world::with_rank(comm);
    const int rank = shadow.rank, size = shadow.size;
    std::unique_ptr<Team> team;
    std::vector<Introduction> introductions;
    std::vector<Seat> seats;
    uint64_t failed = 0;
    try {
        introductions.resize(size_t(size));
        seats.resize(size_t(size));
        team.reset(new Team{comm, rank, size});
    } catch (const std::bad_alloc&) {
        failed = 1;
    }
    if (!world::allreduce_max(shadow, {&failed, 1}) || failed)
        return nullptr;
    if (!team->learn_nodes(split, seat, introductions))
        return nullptr;
    const int nodes = int(team->leader_ranks_.size());
    std::vector<int>& begin = team->node_begin_;
    begin.assign(size_t(nodes) + 1, 0);
    for (int other = 0; other < size; ++other)
        team->local_rank_[size_t(other)] = begin[size_t(team->node_of(other)) + 1]++;
    Layout& layout = team->layout_;
    layout.size = size;
    layout.nodes = nodes;
    layout.most_per_node = *std::max_element(begin.begin() + 1, begin.end());
    layout.least_per_node = *std::min_element(begin.begin() + 1, begin.end());
    layout.consecutive = std::is_sorted(team->node_of_.begin(), team->node_of_.end());
    if (!layout.shared_memory) {
        layout.direct_reads = false;
        layout.slot_bytes = 0;
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (int other = 0; other < size; ++other) {
        const int first = begin[size_t(team->node_of(other))], at = first + team->local_rank(other);
        team->by_node_[size_t(at)] = other;
    }
    team->learn_levels(introductions, seats);
    team->local_ = team->on_node(team->node());
    team->leaders_ = {team->leader_ranks_.data(), nodes, team->local_.rank == 0 ? team->node() : -1};
    return team.release();
}

}  // namespace mpiric::coll
