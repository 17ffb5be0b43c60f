// Recursive doubling. In step k each rank exchanges its partial result with the rank whose number differs in
// bit k, and both reduce. Ranks beyond the largest power of two leave their operand to a neighbour.
//
// Cost: ⌈log₂ p⌉ (α + nβ + nγ), two messages more for the ranks beyond. Best for short vectors. Thakur,
// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/allreduce/stages.hpp"

namespace mpiric::coll {

int recursive_doubling(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    return folded(reduction, group, data, count, [&](const Group& power) {
        const Elements other{reduction, count};
        MPIRIC_TRY(other.error());
        Operands operands{data, other.data()};
        for (int bit = 1; bit < power.size; bit *= 2) {
            const int peer = power.rank ^ bit;
            MPIRIC_TRY(reduction.exchange(operands.partial, count, power[peer], operands.incoming, count,
                                          power[peer]));
            MPIRIC_TRY(peer < power.rank ? operands.join_from_left(reduction, count)
                                         : operands.join_from_right(reduction, count));
        }
        return reduction.copy(operands.partial, data, count);
    });
}

MPIRIC_ALGORITHMS({Collective::allreduce, "recursive_doubling", "Thakur et al. 2005", nullptr, whole_span,
                   in_place_of_all<recursive_doubling>})

}  // namespace mpiric::coll
