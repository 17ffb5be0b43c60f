// Within NUMA domains, packages and nodes, between nodes, and within again. Each leader waits for the ranks
// of its domain, then of its package, of its node; the leaders of nodes meet by dissemination; then each
// leader releases the ranks that it has waited for.
//
// Cost: ⌈log_k N⌉ α for N nodes, and two cache lines per rank, of which two cross the border of each domain
// and package. Katevenis, Ploumidis, Marazakis: A Framework for Hierarchical Single-Copy MPI Collectives.
// Cluster 2022; Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/barrier/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::barrier_multilevel {

template <int radix> int run(const Arguments& call) {
    const Team& team = call.team;
    Board& board = team.board();
    const Tree& tree = team.tree(0);
    int code = MPI_SUCCESS;
    for (const int child : tree.children)
        board.await_step_of(child);
    board.finish();
    if (board.rank() == 0)
        code = dissemination(team, team.leaders(), radix);
    else
        board.look(tree.parent, 0);
    board.know_finished(board.steps());
    if (!tree.children.empty()) {
        board.fill(0);
        board.publish();
    }
    board.finish();
    return code;
}

MPIRIC_ALGORITHMS(
    {Collective::barrier, "multilevel", "Katevenis et al. 2022", has_memory_levels, nullptr, run<2>},
    {Collective::barrier, "multilevel_4", "Katevenis et al. 2022; Hoefler et al. 2006",
     [](const Workload& workload) { return has_memory_levels(workload) && workload.layout.nodes > 2; },
     nullptr, run<4>})

}  // namespace mpiric::coll::barrier_multilevel
