// Between nodes, then within. One rank of each node takes part in a broadcast between nodes (the root for its
// own); it then shows the message to its node in shared memory. Long messages go in segments.
//
// Cost: ⌈log₂ N⌉ (α + nβ) for N nodes instead of p ranks (⌈log_k N⌉ α and more nβ with a radix k, best where
// latency is long), and two copies in memory; each network link carries the message once. Karonis et al.:
// Exploiting Hierarchy in Parallel Computer Networks. IPDPS 2000.
#include "coll/bcast/stages.hpp"

#include "coll/suits.hpp"

namespace mpiric::coll::bcast_hierarchical {

template <BcastTree tree> constexpr auto run = bcast_nodes_by<shared_bcast, tree>;

template <int more_nodes_than> bool on_more_nodes(const Workload& workload) {
    return has_levels(workload) && workload.layout.nodes > more_nodes_than;
}

template <auto stage> int run_long(const Arguments& call) {
    return bcast_nodes<shared_bcast>(call, [&](const Group& group, int root, char* data, uint64_t bytes) {
        return stage(call.team, group, root, data, bytes);
    });
}
bool suits_long(const Workload& workload) {
    return on_more_nodes<2>(workload) && workload.bytes >= uint64_t(workload.layout.nodes);
}
bool suits_doubling(const Workload& workload) {
    return suits_long(workload) && is_power(workload.layout.nodes);
}

MPIRIC_ALGORITHMS(
    {Collective::bcast, "hierarchical", "Karonis et al. 2000", has_levels, packed_bytes, run<binomial>},
    {Collective::bcast, "hierarchical_knomial_4", "Karonis et al. 2000; Chilkuri et al. 2023",
     on_more_nodes<2>, packed_bytes, run<knomial<4>>},
    {Collective::bcast, "hierarchical_knomial_8", "Karonis et al. 2000; Chilkuri et al. 2023",
     on_more_nodes<4>, packed_bytes, run<knomial<8>>},
    {Collective::bcast, "hierarchical_scatter_allgather", "Karonis et al. 2000; Barnett et al. 1994",
     suits_long, packed_bytes, run_long<scatter_allgather>},
    {Collective::bcast, "hierarchical_scatter_recursive_doubling", "Karonis et al. 2000; Thakur et al. 2005",
     suits_doubling, packed_bytes, run_long<scatter_recursive_doubling>},
    {Collective::bcast, "hierarchical_chain", "Karonis et al. 2000; Träff, Ripke 2008",
     [](const Workload& workload) { return has_levels(workload) && workload.bytes > chain_segment; },
     packed_bytes, bcast_chain_of_nodes<shared_bcast>})

}  // namespace mpiric::coll::bcast_hierarchical
