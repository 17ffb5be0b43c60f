// Within nodes, then between them. One rank of each node (the root for its own) reduces its node's vectors in
// shared memory, and takes part in a binomial tree between nodes.
//
// Cost: ⌈log₂ N⌉ (α + nβ + nγ) for N nodes instead of p ranks, and one copy in memory. Karonis et al.:
// Exploiting Hierarchy in Parallel Computer Networks. IPDPS 2000.
#include "coll/reduce/stages.hpp"

#include "coll/suits.hpp"

namespace mpiric::coll::reduce_hierarchical {

MPIRIC_ALGORITHMS({Collective::reduce, "hierarchical", "Karonis et al. 2000",
                   [](const Workload& workload) {
                       return has_levels(workload) && nodes_join(workload) && elements_fit(workload);
                   },
                   two_spans, reduce_nodes<shared_reduce>, ReductionOrder::placement})

}  // namespace mpiric::coll::reduce_hierarchical
