// Pairwise. In step k each rank sends to the one k further and receives from the one k before.
//
// Cost: (p − 1)(α + mβ) for cells of m bytes, with one message under way per rank. Best for long cells. In
// place, pairs exchange through one cell of scratch memory; only where that is bounded, so not for alltoallv.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/alltoall/stages.hpp"

namespace mpiric::coll {
namespace {

/// Every pair meets once: in round r, ranks whose numbers sum to r (modulo p) exchange.
int in_place(const Call& call, const Cells& cells) {
    const int size = call.team.size(), me = call.team.rank();
    for (int round = 0; round < size; ++round) {
        const int peer = (round - me + size) % size;
        if (peer == me)
            continue;
        const Source out{call.team, cells.in(peer), cells.in_count(peer), cells.in_type()};
        MPIRIC_TRY(out.error());
        const Scratch held{out.bytes()};
        if (!held.data())
            return MPI_ERR_NO_MEM;
        MPIRIC_TRY(exchange(call.team, out.data(), out.bytes(), peer, held.data(), out.bytes(), peer));
        MPIRIC_TRY(unpack(call.team, held.data(), cells.in(peer), cells.in_count(peer), cells.in_type()));
    }
    return MPI_SUCCESS;
}

int run(const Call& call) {
    const Cells cells{call};
    if (cells.in_place())
        return in_place(call, cells);
    const int size = call.team.size(), me = call.team.rank();
    MPIRIC_TRY(cells.keep_own());
    for (int step = 1; step < size; ++step) {
        const int to = (me + step) % size, from = (me + size - step) % size;
        MPIRIC_TRY(exchange(call.team, cells.out(to), cells.out_count(to), cells.out_type(), to,
                            cells.in(from), cells.in_count(from), cells.in_type(), from));
    }
    return MPI_SUCCESS;
}

uint64_t scratch(const Shape& shape) { return 2 * shape.bytes; }

constinit const Algorithm algorithm{
    Collective::alltoall, "pairwise", "Thakur et al. 2005", Order::none, nullptr, scratch, run};
constinit const Algorithm varied{Collective::alltoallv,
                                 "pairwise",
                                 "Thakur et al. 2005",
                                 Order::none,
                                 [](const Shape& shape) { return !shape.in_place; },
                                 nullptr,
                                 run};
MPIRIC_ALGORITHM(algorithm)
MPIRIC_ALGORITHM(varied)

}  // namespace
}  // namespace mpiric::coll
