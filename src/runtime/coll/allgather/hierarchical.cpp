// Nodes first. The ranks of a node show their blocks to their leader in shared memory; leaders pass whole
// nodes' blocks around a ring; each shows what has come to its node. Between nodes there are N − 1 large
// messages in place of p − 1 small ones per rank.
//
// Cost: (N − 1) α + (p − p/N) mβ per leader for N nodes and blocks of m bytes, and two copies in memory.
// Träff: Efficient Allgather for Regular SMP-Clusters. EuroPVM/MPI 2006.
#include "coll/allgather/stages.hpp"
#include "coll/bcast/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {
namespace {

int run(const Call& call) {
    Gathering gathering{call};
    MPIRIC_TRY(gathering.begin());
    const Team& team = call.team;
    char* data = gathering.data();
    const Blocks& blocks = gathering.blocks();
    // Ranks of a node follow one another, so its blocks are one row.
    auto begin_of = [&](int node) { return blocks.begin(team.on_node(node)[0]); };
    auto end_of = [&](int node) {
        const Group ranks = team.on_node(node);
        return blocks.begin(ranks[ranks.size - 1] + 1);
    };
    const int nodes = team.leaders().size, me = team.node(), first = team.local()[0];
    if (team.local().size > 1)
        MPIRIC_TRY(shared_allgather(team, data, blocks, first));
    const int left = (me + nodes - 1) % nodes, right = (me + 1) % nodes;
    for (int step = 0; step < nodes - 1; ++step) {
        const int out = (me - step + nodes) % nodes, in = (left - step + nodes) % nodes;
        if (team.local().rank == 0)
            MPIRIC_TRY(exchange(team, data + begin_of(out), end_of(out) - begin_of(out),
                                team.leaders()[right], data + begin_of(in), end_of(in) - begin_of(in),
                                team.leaders()[left]));
        if (team.local().size > 1)
            MPIRIC_TRY(shared_bcast(team, 0, data + begin_of(in), end_of(in) - begin_of(in)));
    }
    return gathering.end();
}

bool suits(const Shape& shape) { return has_levels(shape) && shape.layout.consecutive; }

constinit const Algorithm algorithm{
    Collective::allgather, "hierarchical", "Träff 2006", Order::none, suits, gathering_scratch, run};
constinit const Algorithm varied{
    Collective::allgatherv, "hierarchical", "Träff 2006", Order::none, suits, gathering_scratch, run};
MPIRIC_ALGORITHM(algorithm)
MPIRIC_ALGORITHM(varied)

}  // namespace
}  // namespace mpiric::coll
