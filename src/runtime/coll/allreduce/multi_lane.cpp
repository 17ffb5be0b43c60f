// Lanes. Leaders of each node share the work: each reduces its slice of the node's vectors in shared memory,
// takes it through an allreduce with the leaders of equal position on the other nodes, and shows the result
// to its node. Two, four or all ranks of a node lead: as many as it takes to use all its network cards.
//
// Cost: 2 log₂ N α + 2 n/L β per lane for N nodes with L leaders. Best for long vectors where one rank alone
// cannot fill the network. Träff, Hunold: Decomposing MPI Collectives for Exploiting Multi-lane
// Communication. CLUSTER 2020; Bayatpour et al.: Scalable Reduction Collectives with Data Partitioning-based
// Multi-Leader Design. SC 2017.
#include "coll/allgather/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::allreduce_multi_lane {

template <int leaders> int run(const Arguments& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Lanes lanes{team, leaders};
    const Blocks slices = lanes.among(uint64_t(call.receive_count));
    const auto between = [&](const Group& group, char* slice, MPI_Count count) {
        return count >= group.size ? rabenseifner(reduction, group, slice, count)
                                   : recursive_doubling(reduction, group, slice, count);
    };
    MPIRIC_TRY(reduce_in_lanes(call, reduction, lanes, slices, call.receive, between));
    return shared_allgather(team, static_cast<char*>(call.receive), slices.times(reduction.geometry().size));
}

MPIRIC_ALGORITHMS({Collective::allreduce, "multi_lane", "Träff, Hunold 2020", suits_in_lanes<all_ranks>,
                   whole_span, run<all_ranks>, ReductionOrder::placement},
                  {Collective::allreduce, "multi_lane_2", "Bayatpour et al. 2017", suits_in_lanes<2>,
                   whole_span, run<2>, ReductionOrder::placement},
                  {Collective::allreduce, "multi_lane_4", "Bayatpour et al. 2017", suits_in_lanes<4>,
                   whole_span, run<4>, ReductionOrder::placement})

}  // namespace mpiric::coll::allreduce_multi_lane
