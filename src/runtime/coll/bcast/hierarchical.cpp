// Between nodes, then within. One rank of each node takes part in a broadcast between nodes (the root for its
// own); it then shows the message to its node in shared memory. Long messages go in segments, so that both
// happen at once.
//
// Cost: ⌈log₂ N⌉ (α + nβ) for N nodes instead of p ranks (⌈log_k N⌉ α and more nβ with a radix k, best where
// latency is long), and two copies in memory; each network link carries the message once. Karonis et al.:
// Exploiting Hierarchy in Parallel Computer Networks to Optimize Collective Operation Performance. IPDPS
// 2000.
#include "coll/bcast/pipeline.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {
namespace {

/// Who speaks for each node: its leader, or the root.
std::vector<int> speakers(const Team& team, int root) {
    std::vector<int> ranks(team.leaders().ranks, team.leaders().ranks + team.leaders().size);
    ranks[size_t(team.node_of(root))] = root;
    return ranks;
}

template <class Between> int levels(const Call& call, Between between) {
    const Team& team = call.team;
    const std::vector<int> ranks = speakers(team, call.root);
    const int speaker = ranks[size_t(team.node())];
    const Group group{ranks.data(), int(ranks.size()), speaker == team.rank() ? team.node() : -1};
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        if (group.rank >= 0)
            MPIRIC_TRY(between(group, team.node_of(call.root), data, bytes));
        return team.local().size == 1 ? MPI_SUCCESS
                                      : shared_bcast(team, team.local_rank(speaker), data, bytes);
    });
}

template <int (*tree)(const Message&, const Group&, int) noexcept> int run(const Call& call) {
    return levels(call, [&](const Group& group, int root, char* data, uint64_t bytes) {
        return tree({call.team, data, MPI_Count(bytes), world::handles.byte}, group, root);
    });
}

template <int more_nodes_than> bool on_more_nodes(const Shape& shape) {
    return has_levels(shape) && shape.layout.nodes > more_nodes_than;
}

int run_long(const Call& call) {
    return levels(call, [&](const Group& group, int root, char* data, uint64_t bytes) {
        return scatter_allgather(call.team, group, root, data, bytes);
    });
}

constexpr uint64_t segment = 32 << 10;

/// Down a chain of nodes; each segment goes to the own node as soon as it has come.
int run_chain(const Call& call) {
    const Team& team = call.team;
    const std::vector<int> ranks = speakers(team, call.root);
    const int nodes = int(ranks.size()), speaker = ranks[size_t(team.node())],
              last = (team.node_of(call.root) + nodes - 1) % nodes;
    const bool speaks = speaker == team.rank();
    const int parent =
        speaks && team.rank() != call.root ? ranks[size_t((team.node() + nodes - 1) % nodes)] : nobody;
    const int child = speaks && team.node() != last ? ranks[size_t((team.node() + 1) % nodes)] : nobody;
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        Requests sent{size_t(bytes / segment + 1)};
        for (uint64_t done = 0; done < bytes; done += segment) {
            const uint64_t piece = std::min(segment, bytes - done);
            if (parent != nobody)
                MPIRIC_TRY(receive(team, data + done, piece, parent));
            if (child != nobody)
                MPIRIC_TRY(sent.send(team, data + done, piece, child));
            if (team.local().size > 1)
                MPIRIC_TRY(shared_bcast(team, team.local_rank(speaker), data + done, piece));
        }
        return sent.wait();
    });
}

constinit const Algorithm algorithm{Collective::bcast, "hierarchical", "Karonis et al. 2000", Order::none,
                                    has_levels,        packed_bytes,   run<binomial>};
constinit const Algorithm four{
    Collective::bcast, "hierarchical_knomial_4", "Karonis et al. 2000; Chilkuri et al. 2023",
    Order::none,       on_more_nodes<2>,         packed_bytes,
    run<knomial<4>>};
constinit const Algorithm eight{
    Collective::bcast, "hierarchical_knomial_8", "Karonis et al. 2000; Chilkuri et al. 2023",
    Order::none,       on_more_nodes<4>,         packed_bytes,
    run<knomial<8>>};
constinit const Algorithm longer{Collective::bcast,
                                 "hierarchical_scatter_allgather",
                                 "Karonis et al. 2000; Barnett et al. 1994",
                                 Order::none,
                                 [](const Shape& shape) {
                                     return has_levels(shape) && shape.layout.nodes > 2 &&
                                            shape.bytes >= uint64_t(shape.layout.nodes);
                                 },
                                 packed_bytes,
                                 run_long};
constinit const Algorithm chain{Collective::bcast,
                                "hierarchical_chain",
                                "Karonis et al. 2000; Träff, Ripke 2008",
                                Order::none,
                                [](const Shape& shape) { return has_levels(shape) && shape.bytes > segment; },
                                packed_bytes,
                                run_chain};
MPIRIC_ALGORITHM(algorithm)
MPIRIC_ALGORITHM(four)
MPIRIC_ALGORITHM(eight)
MPIRIC_ALGORITHM(longer)
MPIRIC_ALGORITHM(chain)

}  // namespace
}  // namespace mpiric::coll
