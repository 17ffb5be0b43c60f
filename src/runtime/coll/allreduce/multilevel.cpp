// Within NUMA domains, packages and nodes, between nodes, and within again. Each domain's operands are
// reduced by its leader, those results by the leader of their package, and so on; the leaders of nodes reduce
// among themselves; the result goes down the same tree. Long vectors go piece by piece.
//
// Cost: for N nodes ⌈log₂ N⌉ (α + nβ + nγ) by recursive doubling, ⌈log₄ N⌉ (α + 3(nβ + nγ)) by recursive
// multiplying, or 2⌈log₂ N⌉ α + 2nβ by Rabenseifner's algorithm; in bytes of memory traffic, 2n crosses the
// border of each domain and package, however many ranks it has. Katevenis, Ploumidis, Marazakis: A Framework
// for Hierarchical Single-Copy MPI Collectives on Multicore Nodes. Cluster 2022; Graham, Shipman: MPI Support
// for Multi-core Architectures: Optimized Shared Memory Collectives. EuroPVM/MPI 2008.
#include "coll/allreduce/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::allreduce_multilevel {

template <BetweenNodes between>
constexpr auto run = allreduce_nodes<multilevel_reduce, between, multilevel_bcast>;

bool suits(const Workload& workload) {
    return has_memory_levels(workload) && levels_join(workload) && elements_fit(workload);
}
bool suits_long(const Workload& workload) {
    return suits(workload) && can_divide(workload) && workload.layout.nodes > 2;
}

MPIRIC_ALGORITHMS({Collective::allreduce, "multilevel", "Katevenis et al. 2022", suits, whole_span,
                   run<recursive_doubling>, ReductionOrder::placement},
                  {Collective::allreduce, "multilevel_multiplying_4",
                   "Katevenis et al. 2022; Chilkuri et al. 2023", suits_radix<suits, 4>, several_spans<4>,
                   run<recursive_multiplying<4>>, ReductionOrder::placement},
                  {Collective::allreduce, "multilevel_rabenseifner",
                   "Katevenis et al. 2022; Rabenseifner 2004", suits_long, whole_span, run<rabenseifner>,
                   ReductionOrder::placement})

}  // namespace mpiric::coll::allreduce_multilevel
