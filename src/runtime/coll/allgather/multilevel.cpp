// Up to the leader of each node, between nodes, and down along NUMA domains and packages. The leader of a
// node copies its ranks' blocks and shows them all; leaders pass whole nodes' blocks on and show what has
// come. One rank of each other package, then of each other domain, copies that once and shows its copy on.
//
// Cost per leader for N nodes and blocks of m bytes: (p − p/N) mβ, and (N − 1) α around a ring or log₂ N α by
// recursive doubling, for powers of two; in bytes of memory traffic, pm read by each rank, across the border
// of a domain or package once for each of them instead of once for each rank. Katevenis, Ploumidis,
// Marazakis: A Framework for Hierarchical Single-Copy MPI Collectives on Multicore Nodes. Cluster 2022;
// Träff: Efficient Allgather for Regular SMP-Clusters. EuroPVM/MPI 2006.
#include "coll/allgather/stages.hpp"
#include "coll/gather/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::allgather_multilevel {

template <int (*between)(const NodeRow&)> int run(const Arguments& call) {
    const Team& team = call.team;
    return on_row(call, [&](char* data, const Blocks& blocks) -> int {
        const NodeRow row{team, data, blocks, multilevel_bcast};
        if (team.local().size > 1)
            MPIRIC_TRY(shared_gather(team, 0, data, blocks, team.local()[0]));
        MPIRIC_TRY(row.show(team.node()));
        return between(row);
    });
}

bool suits(const Workload& workload) { return has_memory_levels(workload) && workload.layout.consecutive; }
bool suits_doubling(const Workload& workload) {
    return suits(workload) && workload.layout.nodes > 1 && is_power(workload.layout.nodes);
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv,
                          {Collective::allgather, "multilevel", "Katevenis et al. 2022; Träff 2006", suits,
                           gathering_scratch, run<ring_of_nodes>},
                          {Collective::allgather, "multilevel_doubling", "Katevenis et al. 2022; Träff 2006",
                           suits_doubling, gathering_scratch, run<doubling_of_nodes>})

}  // namespace mpiric::coll::allgather_multilevel
