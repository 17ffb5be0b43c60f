// Ring. In each of p − 1 steps every rank passes on to its right the block that came last from its left.
//
// Cost: (p − 1)(α + mβ) for blocks of m bytes: the least traffic there can be, from neighbours only. Best for
// long blocks. Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH.
// IJHPCA 19(1), 2005.
#include "coll/allgather/stages.hpp"

namespace mpiric::coll {

int ring_allgather(const Team& team, const Group& group, char* data, const Blocks& blocks) noexcept {
    const int left = (group.rank + group.size - 1) % group.size, right = (group.rank + 1) % group.size;
    for (int step = 0; step < group.size - 1; ++step) {
        const int out = (group.rank - step + group.size) % group.size,
                  in = (left - step + group.size) % group.size;
        MPIRIC_TRY(exchange(team, data + blocks.begin(out), blocks.size(out), group[right],
                            data + blocks.begin(in), blocks.size(in), group[left]));
    }
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv, {Collective::allgather, "ring", "Thakur et al. 2005",
                                                   nullptr, gathering_scratch, on_row_of_all<ring_allgather>})

}  // namespace mpiric::coll
