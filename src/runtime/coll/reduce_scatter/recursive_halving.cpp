// Recursive halving. In step k each rank exchanges half of the vector that it still reduces with the rank
// whose number differs in the highest bit left, and keeps the half with its own block. Powers of two only.
//
// Cost: log₂ p α + (p − 1)/p n (β + γ). Best for middling and long vectors. Thakur, Rabenseifner, Gropp:
// Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {

int recursive_halving(const Reduction& reduction, const Group& group, char* data,
                      const Blocks& blocks) noexcept {
    const int me = group.rank;
    uint64_t most = 0;
    for (int half = 0; half < 2; ++half)
        most =
            std::max(most, blocks.begin((half + 1) * group.size / 2) - blocks.begin(half * group.size / 2));
    const Elements incoming{reduction, MPI_Count(most)};
    MPIRIC_TRY(incoming.error());
    int low = 0;
    for (int bit = group.size / 2; bit > 0; bit /= 2) {
        const int peer = me ^ bit, keep = (me & bit) ? low + bit : low, give = (me & bit) ? low : low + bit;
        auto count = [&](int first) { return MPI_Count(blocks.begin(first + bit) - blocks.begin(first)); };
        auto at = [&](int first) { return reduction.at(data, MPI_Count(blocks.begin(first))); };
        MPIRIC_TRY(reduction.exchange(at(give), count(give), group[peer], incoming.data(), count(keep),
                                      group[peer]));
        MPIRIC_TRY(reduction.reduce(incoming.data(), at(keep), count(keep)));
        low = keep;
    }
    return MPI_SUCCESS;
}

namespace reduce_scatter_recursive_halving {

bool suits(const Workload& workload) { return workload.commutative && is_power(workload.layout.size); }

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter,
                          {Collective::reduce_scatter_block, "recursive_halving", "Thakur et al. 2005", suits,
                           copy_and_more, with_copy_of_all<recursive_halving>})

}  // namespace reduce_scatter_recursive_halving
}  // namespace mpiric::coll
