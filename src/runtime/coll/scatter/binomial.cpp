// Binomial tree. The root hands half of all blocks to the rank half way round, which goes on in the same way.
//
// Cost: ⌈log₂ p⌉ α + (p − 1)/p · pmβ for blocks of m bytes. Best for short blocks on many ranks. Thakur,
// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/knomial.hpp"
#include "coll/scatter/stages.hpp"

namespace mpiric::coll::scatter_binomial {

int run(const Arguments& call) {
    const Knomial tree{call, 2};
    return scatter_by_tree(call, tree.reach, [&](char* row, uint64_t block) -> int {
        MPIRIC_TRY(tree.get(call, row, block));
        for (int step = tree.reach / 2; step > 0; step /= 2)
            if (const int child = tree.relative_rank + step; child < tree.size)
                MPIRIC_TRY(send(call.team, row + block * uint64_t(step), block * tree.members(child, step),
                                tree.rank(child)));
        return MPI_SUCCESS;
    });
}

MPIRIC_ALGORITHMS({Collective::scatter, "binomial", "Thakur et al. 2005", nullptr, all_blocks, run})

}  // namespace mpiric::coll::scatter_binomial
