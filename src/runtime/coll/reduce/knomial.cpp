// k-nomial tree. As the binomial tree, but in each of ⌈log_k p⌉ rounds a rank takes the operands of k − 1
// others, all of them under way at once. Where the order of operands counts, the tree is rooted at rank 0.
//
// Cost: ⌈log_k p⌉ α + (k − 1)⌈log_k p⌉ n (β + γ). Best for short vectors where a rank keeps several messages
// under way. Chilkuri et al.: Generalized Collective Algorithms for the Exascale Era. CLUSTER 2023.
#include "coll/knomial.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/suits.hpp"

#include <algorithm>

namespace mpiric::coll::reduce_knomial {

/// data = data ∘ other 1 ∘ … ∘ other `others`, which are overwritten where order counts.
template <class Other>
int join(const Reduction& reduction, char* data, int others, Other other, MPI_Count count) noexcept {
    if (reduction.commutative()) {
        for (int at = 1; at <= others; ++at)
            MPIRIC_TRY(reduction.reduce(other(at), data, count));
        return MPI_SUCCESS;
    }
    for (int at = others; at > 1; --at)
        MPIRIC_TRY(reduction.reduce(other(at - 1), other(others), count));
    MPIRIC_TRY(reduction.reduce(data, other(others), count));
    return reduction.copy(other(others), data, count);
}

template <int radix>
int knomial_reduce(const Reduction& reduction, const Group& group, int root, char* data,
                   MPI_Count count) noexcept {
    const int top = reduction.commutative() ? root : 0;
    const Knomial tree{group, top, radix};
    const Elements come{reduction, tree.reach > 1 ? count * (radix - 1) : 0};
    MPIRIC_TRY(come.error());
    auto other = [&](int at) { return reduction.at(come.data(), count * (at - 1)); };
    for (int step = 1; step < tree.reach; step *= radix) {
        const int others = std::min(radix - 1, (tree.size - 1 - tree.relative_rank) / step);
        Requests coming{radix};
        for (int at = 1; at <= others; ++at)
            MPIRIC_TRY(coming.receive(reduction.team(), other(at), count, reduction.type(),
                                      tree.rank(tree.relative_rank + at * step)));
        MPIRIC_TRY(coming.wait());
        if (others)
            MPIRIC_TRY(join(reduction, data, others, other, count));
    }
    if (tree.relative_rank)
        MPIRIC_TRY(reduction.send(data, count, tree.rank(tree.parent())));
    if (top != root && group.rank == top)
        return reduction.send(data, count, group[root]);
    return top != root && group.rank == root ? reduction.receive(data, count, group[top]) : MPI_SUCCESS;
}

template <int radix> uint64_t scratch(const Workload& workload) { return radix * workload.span; }

MPIRIC_ALGORITHMS({Collective::reduce, "knomial_4", "Chilkuri et al. 2023", on_more_than<2>, scratch<4>,
                   on_a_copy_of_all<knomial_reduce<4>>},
                  {Collective::reduce, "knomial_8", "Chilkuri et al. 2023", on_more_than<4>, scratch<8>,
                   on_a_copy_of_all<knomial_reduce<8>>})

}  // namespace mpiric::coll::reduce_knomial
