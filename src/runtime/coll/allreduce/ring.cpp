// Ring. A reduce-scatter around the ring, then an allgather around it.
//
// Cost: 2 (p − 1) α + 2 (p − 1)/p nβ + (p − 1)/p nγ, from neighbours only: the least traffic there can be.
// Best for long vectors. Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of
// Workstations. JPDC 69(2), 2009.
#include "coll/allgather/stages.hpp"
#include "coll/allreduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {

int ring(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    const Blocks blocks = Blocks::even(uint64_t(count), group.size);
    MPIRIC_TRY(ring_reduce_scatter(reduction, group, data, blocks));
    return ring_allgather(reduction.team(), group, data, blocks.times(reduction.geometry().size));
}

MPIRIC_ALGORITHMS({Collective::allreduce, "ring", "Patarasuk, Yuan 2009", can_divide, whole_span,
                   in_place_of_all<ring>})

}  // namespace mpiric::coll
