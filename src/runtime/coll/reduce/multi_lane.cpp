// Lanes. Leaders of each node share the work: each reduces its slice of the node's vectors in shared memory
// and takes part in a reduction of that slice to the root's node. Two, four or all ranks of a node lead.
//
// Cost: 2 log₂ N α + 2 n/L β per lane for N nodes with L leaders. Best for long vectors where one rank alone
// cannot fill the network. Träff, Hunold: Decomposing MPI Collectives for Exploiting Multi-lane
// Communication. CLUSTER 2020; Bayatpour et al.: Scalable Reduction Collectives with Data Partitioning-based
// Multi-Leader Design. SC 2017.
#include "coll/gather/stages.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::reduce_multi_lane {

template <int leaders> int run(const Arguments& call) {
    const Team& team = call.team;
    return with_result(call, [&](const Reduction& reduction, char* data) -> int {
        const Lanes lanes{team, leaders};
        const Blocks slices = lanes.among(uint64_t(call.receive_count));
        const int target = team.node_of(call.root);
        const auto between = [&](const Group& group, char* slice, MPI_Count count) {
            return count >= group.size ? rabenseifner_reduce(reduction, group, target, slice, count)
                                       : binomial_reduce(reduction, group, target, slice, count);
        };
        MPIRIC_TRY(reduce_in_lanes(call, reduction, lanes, slices, data, between));
        return team.node() == target ? shared_gather(team, team.local_rank(call.root), data,
                                                     slices.times(reduction.geometry().size))
                                     : MPI_SUCCESS;
    });
}

MPIRIC_ALGORITHMS({Collective::reduce, "multi_lane", "Träff, Hunold 2020", suits_in_lanes<all_ranks>,
                   two_spans, run<all_ranks>, ReductionOrder::placement},
                  {Collective::reduce, "multi_lane_2", "Bayatpour et al. 2017", suits_in_lanes<2>, two_spans,
                   run<2>, ReductionOrder::placement},
                  {Collective::reduce, "multi_lane_4", "Bayatpour et al. 2017", suits_in_lanes<4>, two_spans,
                   run<4>, ReductionOrder::placement})

}  // namespace mpiric::coll::reduce_multi_lane
