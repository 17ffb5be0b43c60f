// Binomial tree. In step k the ranks that are still in, counted from the root, hand all blocks they have to
// the one 2^k before.
//
// Cost: ⌈log₂ p⌉ α + (p − 1) mβ for blocks of m bytes. Best for short blocks on many ranks. Thakur,
// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/gather/stages.hpp"
#include "coll/knomial.hpp"

namespace mpiric::coll::gather_binomial {

int run(const Arguments& call) {
    const Knomial tree{call, 2};
    return gather_by_tree(call, tree.reach, [&](char* row, uint64_t block) {
        for (int step = 1; step < tree.reach; step *= 2)
            if (const int child = tree.relative_rank + step; child < tree.size)
                MPIRIC_TRY(receive(call.team, row + block * uint64_t(step), block * tree.members(child, step),
                                   tree.rank(child)));
        return tree.hand_up(call, row, block);
    });
}

MPIRIC_ALGORITHMS({Collective::gather, "binomial", "Thakur et al. 2005", nullptr, all_blocks, run})

}  // namespace mpiric::coll::gather_binomial
