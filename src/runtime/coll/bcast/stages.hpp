// Bcast over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/buffers.hpp"
#include "coll/message.hpp"
#include "world/patience.hpp"
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace mpiric::coll {

/// The message of one rank, sent or received, in its own datatype.
struct Message {
    const Team& team;
    void* at;
    MPI_Count count;
    MPI_Datatype type;

    int send(int to) const noexcept { return coll::send(team, at, count, type, to); }
    int receive(int from) const noexcept { return coll::receive(team, at, count, type, from); }
};

/// One of the trees below.
using BcastTree = int (*)(const Message& message, const Group& group, int root) noexcept;

/// Runs it over all ranks.
template <BcastTree tree> int bcast_by(const Arguments& call) {
    return tree({call.team, call.receive, call.receive_count, call.receive_type}, call.team.everyone(),
                call.root);
}

/// From member `root` to all others. See the files of the same names.
int binomial(const Message& message, const Group& group, int root) noexcept;
/// For radix 4 and 8.
template <int radix> int knomial(const Message& message, const Group& group, int root) noexcept;
int scatter_allgather(const Team& team, const Group& group, int root, char* data, uint64_t bytes) noexcept;
/// For powers of two.
int scatter_recursive_doubling(const Team& team, const Group& group, int root, char* data,
                               uint64_t bytes) noexcept;

/// From local rank `root` to the ranks of its node, through the board.
int shared_bcast(const Team& team, int root, char* data, uint64_t bytes) noexcept;
/// The same along the levels of memory. See the file of the same name.
int multilevel_bcast(const Team& team, int root, char* data, uint64_t bytes) noexcept;

/// One of those.
using NodeBcast = int (*)(const Team& team, int root, char* data, uint64_t bytes) noexcept;

/// Runs an algorithm that wants bytes on the program's buffer.
template <class Stage> int as_bytes(const Arguments& call, Stage stage) {
    Target buffer{call.team, call.receive, call.receive_count, call.receive_type};
    MPIRIC_TRY(buffer.error());
    if (call.team.rank() == call.root) {
        MPIRIC_TRY(buffer.load());
        return stage(buffer.data(), buffer.bytes());
    }
    MPIRIC_TRY(stage(buffer.data(), buffer.bytes()));
    return buffer.store();
}

/// Scratch memory that as_bytes takes, when a datatype has gaps.
inline uint64_t packed_bytes(const Workload& workload) noexcept { return workload.bytes; }

// A message that travels in segments, each rank passing on what has come.

/// Where segments of one kind come from and go to; ranks of the team.
struct Neighbours {
    int parent = nobody;
    int children[2] = {nobody, nobody};
};

/// From rank to rank, the root first.
inline Neighbours chain_of(const Arguments& call) noexcept {
    const int size = call.team.size(), me = call.team.rank(), next = (me + 1) % size;
    return {me == call.root ? nobody : (me + size - 1) % size, {next == call.root ? nobody : next, nobody}};
}

/// A balanced binary tree of the ranks counted from the root.
inline Neighbours binary_tree_of(const Arguments& call) noexcept {
    const int size = call.team.size(), relative_rank = (call.team.rank() - call.root + size) % size;
    auto member = [&](int relative) { return relative < size ? (relative + call.root) % size : nobody; };
    return {relative_rank == 0 ? nobody : member((relative_rank - 1) / 2),
            {member(2 * relative_rank + 1), member(2 * relative_rank + 2)}};
}

/// The segments that come down one tree, in order. Receives are posted before their segments are sent, so
/// that a library that asks the receiver first has its answer at once.
class Coming {
  public:
    /// The segments `begin`, `begin` + `step`, … below `end`.
    Coming(uint64_t begin, uint64_t step, uint64_t end) noexcept
        : next_(begin), posted_(begin), step_(step), end_(end) {}
    ~Coming() {
        for (; next_ < posted_; next_ += step_)
            world::complete({&first(), 1});
    }
    Coming(const Coming&) = delete;
    Coming& operator=(const Coming&) = delete;

    /// Posts as many as there is room for; `piece(number)` is where a segment belongs, and its bytes.
    template <class Piece> int post(const Team& team, int parent, int tree, Piece&& piece) noexcept {
        for (; posted_ < end_ && posted_ < next_ + ahead * step_; posted_ += step_) {
            const auto [at, bytes] = piece(posted_);
            MPIRIC_TRY(start_receive(team, at, bytes, parent, request(posted_), tree));
        }
        return MPI_SUCCESS;
    }
    bool over() const noexcept { return next_ >= end_; }
    MPI_Request& first() noexcept { return request(next_); }
    /// The first one has come: its number.
    uint64_t take() noexcept { return std::exchange(next_, next_ + step_); }

    static constexpr uint64_t ahead = 4;  ///< most that are posted at once

  private:
    MPI_Request& request(uint64_t number) noexcept { return requests_[number / step_ % ahead]; }

    uint64_t next_, posted_, step_, end_;
    std::array<MPI_Request, ahead> requests_{};
};

/// Segment s travels by `trees[s % trees]`. The trees do not wait for one another: with two, a rank near the
/// root of one tree is far from the other root, and taking segments in one order would add up the depths.
template <size_t trees> int pipeline(const Arguments& call, const Neighbours (&by)[trees], uint64_t segment) {
    static_assert(trees <= 2);
    return as_bytes(call, [&](char* data, uint64_t bytes) -> int {
        const uint64_t end = (bytes + segment - 1) / segment;
        const auto piece = [&](uint64_t number) {
            return std::pair{data + number * segment, std::min(segment, bytes - number * segment)};
        };
        Requests sent{size_t(2 * end)};
        const auto pass_on = [&](uint64_t number) -> int {
            const auto [at, piece_bytes] = piece(number);
            for (const int child : by[number % trees].children)
                if (child != nobody)
                    MPIRIC_TRY(sent.send_on(int(number % trees), call.team, at, MPI_Count(piece_bytes),
                                            world::handles.byte, child));
            return MPI_SUCCESS;
        };
        if (by[0].parent == nobody) {
            for (uint64_t number = 0; number < end; ++number)
                MPIRIC_TRY(pass_on(number));
            return sent.wait();
        }
        Coming coming[2] = {{0, trees, end}, {1, trees, trees == 2 ? end : 0}};
        const auto post = [&](size_t tree) {
            return coming[tree].post(call.team, by[tree % trees].parent, int(tree), piece);
        };
        MPIRIC_TRY(post(0));
        MPIRIC_TRY(post(1));
        while (!coming[0].over() || !coming[1].over()) {
            size_t tree = coming[0].over();
            if (coming[0].over() || coming[1].over()) {
                MPIRIC_TRY(world::complete({&coming[tree].first(), 1}));
            } else {
                MPIRIC_TRY(either(coming[0].first(), coming[1].first(), tree));
            }
            const uint64_t number = coming[tree].take();
            MPIRIC_TRY(post(tree));
            MPIRIC_TRY(pass_on(number));
        }
        return sent.wait();
    });
}

// A broadcast between nodes, then within; algorithms differ in how the ranks of a node share memory.

/// Who speaks for each node: its leader, or the root.
inline std::vector<int> speakers(const Team& team, int root) {
    std::vector<int> ranks(team.leaders().ranks, team.leaders().ranks + team.leaders().size);
    ranks[size_t(team.node_of(root))] = root;
    return ranks;
}

/// The message as a whole: between the speakers first, then in each node.
template <NodeBcast within, class Between> int bcast_nodes(const Arguments& call, Between between) {
    const Team& team = call.team;
    const std::vector<int> ranks = speakers(team, call.root);
    const int speaker = ranks[size_t(team.node())];
    const Group group{ranks.data(), int(ranks.size()), speaker == team.rank() ? team.node() : -1};
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        if (group.rank >= 0)
            MPIRIC_TRY(between(group, team.node_of(call.root), data, bytes));
        return team.local().size == 1 ? MPI_SUCCESS : within(team, team.local_rank(speaker), data, bytes);
    });
}

template <NodeBcast within, BcastTree tree> int bcast_nodes_by(const Arguments& call) {
    return bcast_nodes<within>(call, [&](const Group& group, int root, char* data, uint64_t bytes) {
        return tree({call.team, data, MPI_Count(bytes), world::handles.byte}, group, root);
    });
}

inline constexpr uint64_t chain_segment = 32 << 10;

/// Down a chain of nodes; each segment goes to the own node as soon as it has come.
template <NodeBcast within> int bcast_chain_of_nodes(const Arguments& call) {
    const Team& team = call.team;
    const std::vector<int> ranks = speakers(team, call.root);
    const int nodes = int(ranks.size()), speaker = ranks[size_t(team.node())],
              last = (team.node_of(call.root) + nodes - 1) % nodes;
    const bool speaks = speaker == team.rank();
    const int parent =
        speaks && team.rank() != call.root ? ranks[size_t((team.node() + nodes - 1) % nodes)] : nobody;
    const int child = speaks && team.node() != last ? ranks[size_t((team.node() + 1) % nodes)] : nobody;
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        Requests sent{size_t(bytes / chain_segment + 1)};
        for (uint64_t done = 0; done < bytes; done += chain_segment) {
            const uint64_t piece = std::min(chain_segment, bytes - done);
            if (parent != nobody)
                MPIRIC_TRY(receive(team, data + done, piece, parent));
            if (child != nobody)
                MPIRIC_TRY(sent.send(team, data + done, piece, child));
            if (team.local().size > 1)
                MPIRIC_TRY(within(team, team.local_rank(speaker), data + done, piece));
        }
        return sent.wait();
    });
}

}  // namespace mpiric::coll
