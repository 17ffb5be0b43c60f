// Within nodes, between them, within again. The leader of each node reduces its ranks' vectors in shared
// memory, the leaders reduce among themselves, and each shows the result to its node.
//
// Cost: ⌈log₂ N⌉ (α + nβ + nγ) by recursive doubling, ⌈log_k N⌉ (α + (k − 1)(nβ + nγ)) by recursive
// multiplying, which is best where latency is long, or 2⌈log₂ N⌉ α + 2nβ by Rabenseifner's algorithm or a
// ring, for N nodes instead of p ranks; and two copies in memory. Karonis et al.: Exploiting Hierarchy in
// Parallel Computer Networks to Optimize Collective Operation Performance. IPDPS 2000.
#include "coll/allreduce/stages.hpp"

#include "coll/suits.hpp"

namespace mpiric::coll::allreduce_hierarchical {

template <BetweenNodes between> constexpr auto run = allreduce_nodes<shared_reduce, between, shared_bcast>;

bool suits(const Workload& workload) {
    return has_levels(workload) && nodes_join(workload) && elements_fit(workload);
}
bool suits_long(const Workload& workload) {
    return suits(workload) && can_divide(workload) && workload.layout.nodes > 2;
}

MPIRIC_ALGORITHMS(
    {Collective::allreduce, "hierarchical", "Karonis et al. 2000", suits, whole_span, run<recursive_doubling>,
     ReductionOrder::placement},
    {Collective::allreduce, "hierarchical_multiplying_3", "Karonis et al. 2000; Chilkuri et al. 2023",
     suits_radix<suits, 3>, several_spans<3>, run<recursive_multiplying<3>>, ReductionOrder::placement},
    {Collective::allreduce, "hierarchical_multiplying_4", "Karonis et al. 2000; Chilkuri et al. 2023",
     suits_radix<suits, 4>, several_spans<4>, run<recursive_multiplying<4>>, ReductionOrder::placement},
    {Collective::allreduce, "hierarchical_multiplying_8", "Karonis et al. 2000; Chilkuri et al. 2023",
     suits_radix<suits, 8>, several_spans<8>, run<recursive_multiplying<8>>, ReductionOrder::placement},
    {Collective::allreduce, "hierarchical_rabenseifner", "Karonis et al. 2000; Rabenseifner 2004", suits_long,
     whole_span, run<rabenseifner>, ReductionOrder::placement},
    {Collective::allreduce, "hierarchical_ring", "Karonis et al. 2000; Patarasuk, Yuan 2009", suits_long,
     whole_span, run<ring>, ReductionOrder::placement})

}  // namespace mpiric::coll::allreduce_hierarchical
