// Lanes. Leaders of each node share the work: each reduces its slice of the node's vectors in shared memory
// and takes part in a reduction of that slice to the root's node, whose leaders then show theirs to the root.
// Two, four or all ranks of a node lead.
//
// Cost: 2 log₂ N α + 2 n/L β per lane for N nodes with L leaders. Best for long vectors where one rank alone
// cannot fill the network. Träff, Hunold: Decomposing MPI Collectives for Exploiting Multi-lane
// Communication. CLUSTER 2020; Bayatpour et al.: Scalable Reduction Collectives with Data Partitioning-based
// Multi-Leader Design. SC 2017.
#include "coll/allreduce/stages.hpp"
#include "coll/gather/stages.hpp"
#include "coll/lanes.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {
namespace reduce_multi_lane {

template <int leaders> int run(const Call& call) {
    const Team& team = call.team;
    return with_result(call, [&](const Reduction& reduction, char* data) -> int {
        const Lanes lanes{team, leaders};
        const Blocks slices = lanes.among(uint64_t(call.receive_count));
        const int target = team.node_of(call.root), me = team.local().rank;
        MPIRIC_TRY(shared_reduce_scatter(reduction, input_of(call), data, slices));
        if (lanes.leads()) {
            const Group group = lanes.group();
            const MPI_Count count = MPI_Count(slices.size(me));
            char* slice = reduction.at(data, MPI_Count(slices.begin(me)));
            MPIRIC_TRY(count >= group.size ? rabenseifner_reduce(reduction, group, target, slice, count)
                                           : binomial_reduce(reduction, group, target, slice, count));
        }
        return team.node() == target ? shared_gather(team, team.local_rank(call.root), data,
                                                     slices.times(reduction.geometry().size))
                                     : MPI_SUCCESS;
    });
}

template <int leaders> bool suits(const Shape& shape) {
    return has_leaders<leaders>(shape) && can_divide(shape) && elements_fit(shape);
}

constinit const Algorithm registered[] = {
    {Collective::reduce, "multi_lane", "Träff, Hunold 2020", Order::placement, suits<all_ranks>, two_spans,
     run<all_ranks>},
    {Collective::reduce, "multi_lane_2", "Bayatpour et al. 2017", Order::placement, suits<2>, two_spans,
     run<2>},
    {Collective::reduce, "multi_lane_4", "Bayatpour et al. 2017", Order::placement, suits<4>, two_spans,
     run<4>},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace reduce_multi_lane
}  // namespace mpiric::coll
