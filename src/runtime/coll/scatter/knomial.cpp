// k-nomial tree. As the binomial tree, but a rank hands on the blocks of k − 1 others in each of ⌈log_k p⌉
// rounds, all of them under way at once.
//
// Cost: ⌈log_k p⌉ α + (p − 1) mβ for blocks of m bytes, with (k − 1)⌈log_k p⌉ messages under way on the root.
// Best for short blocks on many ranks. Chilkuri et al.: Generalized Collective Algorithms for the Exascale
// Era. CLUSTER 2023.
#include "coll/knomial.hpp"
#include "coll/scatter/stages.hpp"

namespace mpiric::coll::scatter_knomial {

template <int radix> int run(const Arguments& call) {
    const Knomial tree{call, radix};
    return scatter_by_tree(call, tree.reach, [&](char* row, uint64_t block) {
        MPIRIC_TRY(tree.get(call, row, block));
        Requests sent{64};
        for (int step = tree.reach / radix; step > 0; step /= radix)
            for (int child = tree.relative_rank + step; child < tree.end_of_children(step); child += step)
                MPIRIC_TRY(sent.send(call.team, row + block * uint64_t(child - tree.relative_rank),
                                     block * tree.members(child, step), tree.rank(child)));
        return sent.wait();
    });
}

MPIRIC_ALGORITHMS({Collective::scatter, "knomial_4", "Chilkuri et al. 2023", on_more_than<2>, all_blocks,
                   run<4>},
                  {Collective::scatter, "knomial_8", "Chilkuri et al. 2023", on_more_than<4>, all_blocks,
                   run<8>})

}  // namespace mpiric::coll::scatter_knomial
