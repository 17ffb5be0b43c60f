// Binomial tree. In step k the ranks that have the message, counted from the root, send it 2^k further.
//
// Cost: ⌈log₂ p⌉ (α + nβ). Best for short messages, and the reference for longer ones. Thakur, Rabenseifner,
// Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/bcast/stages.hpp"
#include "coll/knomial.hpp"

namespace mpiric::coll {

int binomial(const Message& message, const Group& group, int root) noexcept {
    const Knomial tree{group, root, 2};
    if (tree.relative_rank)
        MPIRIC_TRY(message.receive(tree.rank(tree.parent())));
    for (int step = tree.reach / 2; step > 0; step /= 2)
        if (const int child = tree.relative_rank + step; child < tree.size)
            MPIRIC_TRY(message.send(tree.rank(child)));
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS({Collective::bcast, "binomial", "Thakur et al. 2005", nullptr, nullptr, bcast_by<binomial>})

}  // namespace mpiric::coll
