// Recursive doubling. In step k each rank exchanges the blocks it has, 2^k of them in a row, with the one
// whose number differs in bit k. For powers of two.
//
// Cost: log₂ p α + (p − 1) mβ for blocks of m bytes. Best for short and middling blocks. Thakur,
// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/allgather/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

int recursive_doubling_allgather(const Team& team, const Group& group, char* data,
                                 const Blocks& blocks) noexcept {
    for (int bit = 1; bit < group.size; bit *= 2) {
        const int peer = group.rank ^ bit, mine = group.rank & ~(bit - 1), peer_first = peer & ~(bit - 1);
        MPIRIC_TRY(exchange(team, data + blocks.begin(mine), blocks.begin(mine + bit) - blocks.begin(mine),
                            group[peer], data + blocks.begin(peer_first),
                            blocks.begin(peer_first + bit) - blocks.begin(peer_first), group[peer]));
    }
    return MPI_SUCCESS;
}

namespace allgather_recursive_doubling {

bool suits(const Workload& workload) { return is_power(workload.layout.size); }

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv,
                          {Collective::allgather, "recursive_doubling", "Thakur et al. 2005", suits,
                           gathering_scratch, on_row_of_all<recursive_doubling_allgather>})

}  // namespace allgather_recursive_doubling
}  // namespace mpiric::coll
