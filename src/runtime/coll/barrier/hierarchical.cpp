// Within nodes, between them, within again. Ranks of a node meet in shared memory, leaders by dissemination.
//
// Cost: ⌈log_k N⌉ α for N nodes, and two cache lines per rank. Karonis et al., IPDPS 2000.
#include "coll/barrier/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

int hierarchical_barrier(const Team& team, int radix) {
    Board& board = team.board();
    if (board.size() == 1)
        return dissemination(team, team.leaders(), radix);
    board.finish();
    int code = MPI_SUCCESS;
    if (board.rank() == 0) {
        board.await_all();
        code = dissemination(team, team.leaders(), radix);
        board.fill(0);
        board.publish();
    } else {
        board.look(0, 0);
    }
    board.finish();
    return code;
}

int meet(const Team& team) {
    if (!team.layout().shared_memory)
        return dissemination(team, team.everyone(), 2);
    if (team.layout().nodes > 1)
        return hierarchical_barrier(team, 2);
    shared_barrier(team);
    return MPI_SUCCESS;
}

namespace barrier_hierarchical {

template <int radix> int run(const Arguments& call) { return hierarchical_barrier(call.team, radix); }

MPIRIC_ALGORITHMS({Collective::barrier, "hierarchical", "Karonis et al. 2000", has_levels, nullptr, run<2>},
                  {Collective::barrier, "hierarchical_4", "Karonis et al. 2000; Hoefler et al. 2006",
                   [](const Workload& workload) { return has_levels(workload) && workload.layout.nodes > 2; },
                   nullptr, run<4>})

}  // namespace barrier_hierarchical
}  // namespace mpiric::coll
