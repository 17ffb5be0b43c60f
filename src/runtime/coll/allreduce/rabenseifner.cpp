// Rabenseifner. A reduce-scatter by recursive halving, then an allgather by recursive doubling. Ranks beyond
// the largest power of two hand their operand to a neighbour first and get the result at the end.
//
// Cost: 2 log₂ p α + 2 (p − 1)/p nβ + (p − 1)/p nγ. Best for middling and long vectors.
// Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004.
#include "coll/allgather/stages.hpp"
#include "coll/allreduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {

int rabenseifner(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    return folded(reduction, group, data, count, [&](const Group& power) {
        const Blocks blocks = Blocks::even(uint64_t(count), power.size);
        MPIRIC_TRY(recursive_halving(reduction, power, data, blocks));
        return recursive_doubling_allgather(reduction.team(), power, data,
                                            blocks.times(reduction.geometry().size));
    });
}

MPIRIC_ALGORITHMS({Collective::allreduce, "rabenseifner", "Rabenseifner 2004", can_divide, whole_span,
                   in_place_of_all<rabenseifner>})

}  // namespace mpiric::coll
