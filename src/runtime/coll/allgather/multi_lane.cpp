// Lanes. The ranks of a node show their blocks to each other in shared memory; leaders pass slices of whole
// nodes' blocks around a ring of the leaders of equal position, and show each other's node what has come.
// Two, four or all ranks of a node lead.
//
// Cost per leader for N nodes with L leaders and blocks of m bytes: (N − 1) α + (p − p/N) m/L β, and two
// copies in memory. Best for long blocks where one rank alone cannot fill the network. Kandalla et al.:
// Designing Multi-leader-based Allgather Algorithms for Multi-core Clusters. IPDPS 2009; Träff, Hunold:
// Decomposing MPI Collectives for Exploiting Multi-lane Communication. CLUSTER 2020.
#include "coll/allgather/stages.hpp"
#include "coll/lanes.hpp"

namespace mpiric::coll::allgather_multi_lane {

template <int leaders> int run(const Arguments& call) {
    Gathering gathering{call};
    MPIRIC_TRY(gathering.begin());
    const Team& team = call.team;
    const Lanes lanes{team, leaders};
    const Blocks& blocks = gathering.blocks();
    MPIRIC_TRY(shared_allgather(team, gathering.data(), blocks, team.local()[0]));
    const int nodes = team.leaders().size, me = team.node();
    const int left = (me + nodes - 1) % nodes, right = (me + 1) % nodes;
    const Blocks rows = by_node(team, blocks);
    for (int step = 0; step < nodes - 1; ++step) {
        const int out = (me - step + nodes) % nodes, in = (left - step + nodes) % nodes;
        const Blocks going = Blocks::even(rows.size(out), lanes.leaders()),
                     coming = Blocks::even(rows.size(in), lanes.leaders());
        if (const int lane = lanes.lane(); lanes.leads())
            MPIRIC_TRY(exchange(team, gathering.data() + rows.begin(out) + going.begin(lane),
                                going.size(lane), lanes.group()[right],
                                gathering.data() + rows.begin(in) + coming.begin(lane), coming.size(lane),
                                lanes.group()[left]));
        MPIRIC_TRY(shared_allgather(team, gathering.data() + rows.begin(in), lanes.among(rows.size(in))));
    }
    return gathering.end();
}

template <int leaders> bool suits(const Workload& workload) {
    const uint64_t ranks = workload.collective == Collective::allgather ? uint64_t(workload.layout.size) : 1;
    return has_leaders<leaders>(workload) && workload.layout.consecutive &&
           worth_dividing(workload.bytes * ranks / uint64_t(workload.layout.nodes));
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv,
                          {Collective::allgather, "multi_lane", "Träff, Hunold 2020", suits<all_ranks>,
                           gathering_scratch, run<all_ranks>},
                          {Collective::allgather, "multi_lane_2", "Kandalla et al. 2009", suits<2>,
                           gathering_scratch, run<2>},
                          {Collective::allgather, "multi_lane_4", "Kandalla et al. 2009", suits<4>,
                           gathering_scratch, run<4>})

}  // namespace mpiric::coll::allgather_multi_lane
