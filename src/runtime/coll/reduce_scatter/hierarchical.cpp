// Nodes first. The ranks of a node reduce their vectors in shared memory to their leader; leaders reduce and
// scatter whole nodes' blocks among themselves; each shows its node what it ends with.
//
// Cost for N nodes: log₂ N α by recursive halving, (N − 1) α around a ring, α when all is sent at once; and
// (N − 1)/N n (β + γ) per node, where flat algorithms carry up to L times as much for L ranks a node. Best
// for short and middling vectors. Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks to
// Optimize Collective Operation Performance. IPDPS 2000.
#include "coll/allgather/stages.hpp"
#include "coll/bcast/stages.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::reduce_scatter_hierarchical {

template <Between between> int run(const Arguments& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Blocks blocks = blocks_of(call);
    const bool leads = team.local().rank == 0;
    const Blocks of_nodes = by_node(team, blocks);
    const uint64_t row = of_nodes.begin(team.node());
    const MPI_Count whole = MPI_Count(blocks.begin(team.size())),
                    own_node = MPI_Count(of_nodes.size(team.node()));
    const Elements work{reduction, leads ? whole : own_node};
    MPIRIC_TRY(work.error());
    MPIRIC_TRY(shared_reduce(reduction, 0, input_of(call), work.data(), whole));
    if (leads)
        MPIRIC_TRY(between(reduction, team.leaders(), work.data(), of_nodes));
    char* mine = leads ? reduction.at(work.data(), MPI_Count(row)) : work.data();
    if (team.local().size > 1)
        MPIRIC_TRY(shared_bcast(team, 0, mine, reduction.bytes(own_node)));
    const uint64_t own = blocks.begin(team.rank()) - row;
    return reduction.copy(reduction.at(mine, MPI_Count(own)), call.receive,
                          MPI_Count(blocks.size(team.rank())));
}

bool suits(const Workload& workload) {
    return has_levels(workload) && workload.layout.consecutive && workload.dense && elements_fit(workload);
}
bool suits_around(const Workload& workload) { return suits(workload) && workload.commutative; }
bool suits_halving(const Workload& workload) {
    return suits_around(workload) && is_power(workload.layout.nodes);
}

/// The whole vector, and a node's row from every node; all elements may be in one row.
uint64_t scratch(const Workload& workload) {
    const auto nodes = uint64_t(workload.layout.nodes);
    return workload.collective == Collective::reduce_scatter_block
               ? workload.span *
                     (uint64_t(workload.layout.size) + uint64_t(workload.layout.most_per_node) * nodes)
               : workload.span * (nodes + 1);
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter,
                          {Collective::reduce_scatter_block, "hierarchical", "Karonis et al. 2000",
                           suits_halving, scratch, run<recursive_halving>, ReductionOrder::placement},
                          {Collective::reduce_scatter_block, "hierarchical_ring", "Karonis et al. 2000",
                           suits_around, scratch, run<ring_reduce_scatter>, ReductionOrder::placement},
                          {Collective::reduce_scatter_block, "hierarchical_linear", "Karonis et al. 2000",
                           suits, scratch, run<linear_reduce_scatter>, ReductionOrder::placement})

}  // namespace mpiric::coll::reduce_scatter_hierarchical
