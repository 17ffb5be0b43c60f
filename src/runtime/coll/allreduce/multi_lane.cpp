// Lanes. The ranks of a node share the work: each reduces its slice of the node's vectors in shared memory,
// takes it through an allreduce with the ranks of equal position on the other nodes, and shows the result to
// its node. All ranks, and all network cards they use, work at once.
//
// Cost: 2 log₂ N α + 2 n/L β per lane for N nodes of L ranks. Best for long vectors where one rank alone
// cannot fill the network. Träff, Hunold: Decomposing MPI Collectives for Exploiting Multi-lane
// Communication. CLUSTER 2020.
#include "coll/allgather/stages.hpp"
#include "coll/allreduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {
namespace {

int run(const Call& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Blocks slices = Blocks::even(uint64_t(call.receive_count), team.local().size);
    MPIRIC_TRY(shared_reduce_scatter(reduction, input_of(call), call.receive, slices));
    std::vector<int> lane(size_t(team.leaders().size));
    for (int node = 0; node < team.leaders().size; ++node)
        lane[size_t(node)] = team.on_node(node)[team.local().rank];
    const Group group{lane.data(), int(lane.size()), team.node()};
    const MPI_Count count = MPI_Count(slices.size(team.local().rank));
    char* slice = reduction.at(call.receive, MPI_Count(slices.begin(team.local().rank)));
    MPIRIC_TRY(count >= group.size ? rabenseifner(reduction, group, slice, count)
                                   : recursive_doubling(reduction, group, slice, count));
    return shared_allgather(team, static_cast<char*>(call.receive), slices.times(reduction.geometry().size));
}

bool suits(const Shape& shape) {
    return has_levels(shape) && is_uniform(shape) && can_divide(shape) && elements_fit(shape);
}

constinit const Algorithm algorithm{
    Collective::allreduce, "multi_lane", "Träff, Hunold 2020", Order::placement, suits, whole_span, run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
