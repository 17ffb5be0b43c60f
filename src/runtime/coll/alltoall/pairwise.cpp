// Pairwise. In step k each rank sends to the one k further and receives from the one k before.
//
// Cost: (p − 1)(α + mβ) for cells of m bytes, with one message under way per rank. Best for long cells. In
// place, pairs swap their cells by MPI_Sendrecv_replace, which takes at most a cell of memory, as libraries
// do. Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/alltoall/stages.hpp"

namespace mpiric::coll::alltoall_pairwise {

/// Every pair meets once: in round r, ranks whose numbers sum to r (modulo p) exchange.
int in_place(const Arguments& call, const Cells& cells) {
    const int size = call.team.size(), me = call.team.rank();
    for (int round = 0; round < size; ++round) {
        const int peer = (round - me + size) % size;
        if (peer == me)
            continue;
        MPIRIC_TRY(swap(call.team, cells.in.at(peer), cells.in.count(peer), cells.in.type(), peer));
    }
    return MPI_SUCCESS;
}

int run(const Arguments& call) {
    const Cells cells{call};
    if (cells.in_place)
        return in_place(call, cells);
    const int size = call.team.size(), me = call.team.rank();
    MPIRIC_TRY(cells.keep_own());
    for (int step = 1; step < size; ++step) {
        const int to = (me + step) % size, from = (me + size - step) % size;
        MPIRIC_TRY(exchange(call.team, cells.out.at(to), cells.out.count(to), cells.out.type(), to,
                            cells.in.at(from), cells.in.count(from), cells.in.type(), from));
    }
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::alltoallv,
                          {Collective::alltoall, "pairwise", "Thakur et al. 2005", nullptr, nullptr, run})

}  // namespace mpiric::coll::alltoall_pairwise
