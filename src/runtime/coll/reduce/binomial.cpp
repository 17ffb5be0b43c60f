// Binomial tree. In step k the ranks that are still in, counted from the root, hand what they have reduced to
// the one 2^k before. Where the order of operands counts, the tree is rooted at rank 0.
//
// Cost: ⌈log₂ p⌉ (α + nβ + nγ). Best for short vectors. Thakur, Rabenseifner, Gropp: Optimization of
// Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/knomial.hpp"
#include "coll/reduce/stages.hpp"

namespace mpiric::coll {

int binomial_reduce(const Reduction& reduction, const Group& group, int root, char* data,
                    MPI_Count count) noexcept {
    const Elements other{reduction, count};
    MPIRIC_TRY(other.error());
    Operands operands{data, other.data()};
    const int top = reduction.commutative() ? root : 0;
    const Knomial tree{group, top, 2};
    for (int step = 1; step < tree.reach; step *= 2)
        if (const int child = tree.relative_rank + step; child < tree.size) {
            MPIRIC_TRY(reduction.receive(operands.incoming, count, tree.rank(child)));
            MPIRIC_TRY(operands.join_from_right(reduction, count));
        }
    if (tree.relative_rank)
        MPIRIC_TRY(reduction.send(operands.partial, count, tree.rank(tree.parent())));
    if (top != root && group.rank == top)
        return reduction.send(operands.partial, count, group[root]);
    if (top != root && group.rank == root)
        return reduction.receive(data, count, group[top]);
    return group.rank == root ? reduction.copy(operands.partial, data, count) : MPI_SUCCESS;
}

MPIRIC_ALGORITHMS({Collective::reduce, "binomial", "Thakur et al. 2005", nullptr, two_spans,
                   on_a_copy_of_all<binomial_reduce>})

}  // namespace mpiric::coll
