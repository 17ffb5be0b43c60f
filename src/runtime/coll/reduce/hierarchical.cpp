// Within nodes, then between them. One rank of each node (the root for its own) reduces its node's vectors in
// shared memory, and takes part in a binomial tree between nodes.
//
// Cost: ⌈log₂ N⌉ (α + nβ + nγ) for N nodes instead of p ranks, and one copy in memory.
// Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks to Optimize Collective Operation
// Performance. IPDPS 2000.
#include "coll/reduce/stages.hpp"
#include "coll/suits.hpp"

#include <vector>

namespace mpiric::coll {
namespace {

int run(const Call& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    std::vector<int> ranks(team.leaders().ranks, team.leaders().ranks + team.leaders().size);
    ranks[size_t(team.node_of(call.root))] = call.root;
    const int speaker = ranks[size_t(team.node())];
    const bool speaks = speaker == team.rank(), root = team.rank() == call.root;
    const Elements work{reduction, speaks && !root ? call.receive_count : 0};
    MPIRIC_TRY(work.error());
    char* data = root ? static_cast<char*>(call.receive) : work.data();
    MPIRIC_TRY(shared_reduce(reduction, team.local_rank(speaker), input_of(call), data, call.receive_count));
    if (!speaks)
        return MPI_SUCCESS;
    const Group group{ranks.data(), int(ranks.size()), team.node()};
    return binomial_reduce(reduction, group, team.node_of(call.root), data, call.receive_count);
}

constinit const Algorithm algorithm{
    Collective::reduce,
    "hierarchical",
    "Karonis et al. 2000",
    Order::placement,
    [](const Shape& shape) { return has_levels(shape) && nodes_join(shape) && elements_fit(shape); },
    [](const Shape& shape) { return 2 * shape.span; },
    run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
