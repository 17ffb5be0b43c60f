// Within NUMA domains, packages and nodes, between nodes, and within again. Each domain's operands are
// reduced by its leader, those results by the leader of their package, and so on; the leaders of nodes reduce
// among themselves; the result goes down the same tree. Long vectors go piece by piece, so that all levels
// work at once.
//
// Cost: for N nodes ⌈log₂ N⌉ (α + nβ + nγ) by recursive doubling, ⌈log₄ N⌉ (α + 3(nβ + nγ)) by recursive
// multiplying, or 2⌈log₂ N⌉ α + 2nβ by Rabenseifner's algorithm; in bytes of memory traffic, 2n crosses the
// border of each domain and package, however many ranks it has. Katevenis, Ploumidis, Marazakis: A Framework
// for Hierarchical Single-Copy MPI Collectives on Multicore Nodes. Cluster 2022; Graham, Shipman: MPI Support
// for Multi-core Architectures: Optimized Shared Memory Collectives. EuroPVM/MPI 2008.
#include "coll/allreduce/hierarchical.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {
namespace allreduce_multilevel {

template <BetweenNodes between>
constexpr auto run = allreduce_nodes<multilevel_reduce, between, multilevel_bcast>;

bool suits(const Shape& shape) {
    return has_memory_levels(shape) && levels_join(shape) && elements_fit(shape);
}
bool suits_long(const Shape& shape) { return suits(shape) && can_divide(shape) && shape.layout.nodes > 2; }
bool suits_four(const Shape& shape) {
    return suits(shape) && multiplies(4, shape.layout.nodes, shape.commutative);
}

constinit const Algorithm algorithm{Collective::allreduce,  "multilevel", "Katevenis et al. 2022",
                                    Order::placement,       suits,        whole_span,
                                    run<recursive_doubling>};
constinit const Algorithm four{Collective::allreduce,
                               "multilevel_multiplying_4",
                               "Katevenis et al. 2022; Chilkuri et al. 2023",
                               Order::placement,
                               suits_four,
                               [](const Shape& shape) { return shape.span * 5; },
                               run<recursive_multiplying<4>>};
constinit const Algorithm halving{Collective::allreduce,
                                  "multilevel_rabenseifner",
                                  "Katevenis et al. 2022; Rabenseifner 2004",
                                  Order::placement,
                                  suits_long,
                                  whole_span,
                                  run<rabenseifner>};
MPIRIC_ALGORITHM(algorithm)
MPIRIC_ALGORITHM(four)
MPIRIC_ALGORITHM(halving)

}  // namespace allreduce_multilevel
}  // namespace mpiric::coll
