// Ring. A partial result for each block travels once around the ring and grows by each rank's operand.
//
// Cost: (p − 1)(α + n/p (β + γ)), from neighbours only. Best for long vectors. The order of operands differs
// from block to block: commutative operations only. Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms
// for Clusters of Workstations. JPDC 69(2), 2009.
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {

int ring_reduce_scatter(const Reduction& reduction, const Group& group, char* data,
                        const Blocks& blocks) noexcept {
    const int size = group.size, me = group.rank, left = (me + size - 1) % size, right = (me + 1) % size;
    const Elements incoming{reduction, MPI_Count(blocks.largest(size))};
    MPIRIC_TRY(incoming.error());
    for (int step = 1; step < size; ++step) {
        const int out = (me - step + size) % size, in = (left - step + size) % size;
        const MPI_Count count = MPI_Count(blocks.size(in));
        MPIRIC_TRY(reduction.exchange(reduction.at(data, MPI_Count(blocks.begin(out))),
                                      MPI_Count(blocks.size(out)), group[right], incoming.data(), count,
                                      group[left]));
        MPIRIC_TRY(reduction.reduce(incoming.data(), reduction.at(data, MPI_Count(blocks.begin(in))), count));
    }
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter,
                          {Collective::reduce_scatter_block, "ring", "Patarasuk, Yuan 2009", is_commutative,
                           copy_and_more, with_copy_of_all<ring_reduce_scatter>})

}  // namespace mpiric::coll
