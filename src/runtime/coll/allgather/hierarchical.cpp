// Nodes first. The ranks of a node show their blocks to each other in shared memory; leaders pass whole
// nodes' blocks on; each shows what has come to its node. Between nodes there are N − 1 large messages in
// place of p − 1 small ones per rank.
//
// Cost per leader for N nodes and blocks of m bytes: (p − p/N) mβ, and (N − 1) α around a ring, best for long
// blocks; log₂ N α by recursive doubling, for powers of two, or α when all is sent at once, best for short
// ones. Two copies in memory. Träff: Efficient Allgather for Regular SMP-Clusters. EuroPVM/MPI 2006.
#include "coll/allgather/stages.hpp"

#include "coll/suits.hpp"

namespace mpiric::coll {
namespace {

/// Shows the blocks that the leader has received, in one piece if they fit into a slot.
int show_others(const NodeRow& row) {
    const int nodes = row.team().leaders().size, me = row.team().node();
    if (row.bytes(0, nodes) <= row.team().board().slot_bytes())
        return row.show(0, nodes);
    MPIRIC_TRY(row.show(0, me));
    return row.show(me + 1, nodes - me - 1);
}

}  // namespace

int ring_of_nodes(const NodeRow& row) {
    const Team& team = row.team();
    const int nodes = team.leaders().size, me = team.node();
    const int left = (me + nodes - 1) % nodes, right = (me + 1) % nodes;
    for (int step = 0; step < nodes - 1; ++step) {
        const int out = (me - step + nodes) % nodes, in = (left - step + nodes) % nodes;
        if (team.local().rank == 0)
            MPIRIC_TRY(exchange(team, row.at(out), row.bytes(out), row.leader(right), row.at(in),
                                row.bytes(in), row.leader(left)));
        MPIRIC_TRY(row.show(in));
    }
    return MPI_SUCCESS;
}

int doubling_of_nodes(const NodeRow& row) {
    const Team& team = row.team();
    if (team.local().rank == 0)
        MPIRIC_TRY(recursive_doubling_allgather(team, team.leaders(), row.data(), row.blocks()));
    return show_others(row);
}

namespace allgather_hierarchical {

int linear(const NodeRow& row) {
    const Team& team = row.team();
    const int nodes = team.leaders().size, me = team.node();
    if (team.local().rank == 0) {
        Requests under_way{size_t(2 * nodes)};
        for (int step = 1; step < nodes; ++step) {
            const int from = (me + nodes - step) % nodes, to = (me + step) % nodes;
            MPIRIC_TRY(under_way.receive(team, row.at(from), row.bytes(from), row.leader(from)));
            MPIRIC_TRY(under_way.send(team, row.at(me), row.bytes(me), row.leader(to)));
        }
        MPIRIC_TRY(under_way.wait());
    }
    return show_others(row);
}

template <int (*between)(const NodeRow&)> int run(const Arguments& call) {
    const Team& team = call.team;
    return on_row(call, [&](char* data, const Blocks& blocks) -> int {
        if (team.local().size > 1)
            MPIRIC_TRY(shared_allgather(team, data, blocks, team.local()[0]));
        return between(NodeRow{team, data, blocks, shared_bcast});
    });
}

bool suits(const Workload& workload) { return has_levels(workload) && workload.layout.consecutive; }
bool suits_doubling(const Workload& workload) { return suits(workload) && is_power(workload.layout.nodes); }
bool suits_linear(const Workload& workload) { return suits(workload) && workload.layout.nodes > 2; }

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv,
                          {Collective::allgather, "hierarchical", "Träff 2006", suits, gathering_scratch,
                           run<ring_of_nodes>},
                          {Collective::allgather, "hierarchical_doubling", "Träff 2006", suits_doubling,
                           gathering_scratch, run<doubling_of_nodes>},
                          {Collective::allgather, "hierarchical_linear", "Träff 2006", suits_linear,
                           gathering_scratch, run<linear>})

}  // namespace allgather_hierarchical
}  // namespace mpiric::coll
