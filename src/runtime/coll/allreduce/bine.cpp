// Bine butterfly. A reduce-scatter in which each rank exchanges half of its remaining vector with its
// partner, the nearest first because these messages are the largest, then the same way back. Or an exchange
// of the whole vector in each step, the farthest first: all ranks then combine the same partial results, and
// get the same bits. For powers of two.
//
// Partners are as in Swing. Blocks are numbered so that a message is one piece of the vector: no block is
// copied into a row first.
//
// Cost: 2 log₂ p α + 2 (p − 1)/p nβ + (p − 1)/p nγ; log₂ p (α + nβ + nγ) by doubling. Best where ranks are
// numbered along a ring, a torus, or groups of nodes. De Sensi et al.: Bine Trees: Enhancing Collective
// Operations by Optimizing Communication Locality. SC 2025.
#include "coll/bine.hpp"

#include "coll/allgather/stages.hpp"
#include "coll/allreduce/stages.hpp"

namespace mpiric::coll::allreduce_bine {

int halving(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    const Blocks blocks = Blocks::even(uint64_t(count), group.size);
    const Elements incoming{reduction, MPI_Count(blocks.begin(group.size / 2))};
    MPIRIC_TRY(incoming.error());
    for (const auto& [peer, kept, given, half] : Bine{group.size}.path(group.rank)) {
        const auto at = [&](int first) { return reduction.at(data, MPI_Count(blocks.begin(first))); };
        const auto elements = [&](int first) {
            return MPI_Count(blocks.begin(first + half) - blocks.begin(first));
        };
        MPIRIC_TRY(reduction.exchange(at(given), elements(given), group[peer], incoming.data(),
                                      elements(kept), group[peer]));
        MPIRIC_TRY(reduction.reduce(incoming.data(), at(kept), elements(kept)));
    }
    return bine_allgather(reduction.team(), {group, 0}, data, blocks.times(reduction.geometry().size));
}

int doubling(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    const Bine bine{group.size};
    const Elements other{reduction, count};
    MPIRIC_TRY(other.error());
    Operands operands{data, other.data()};
    for (int step = bine.steps() - 1; step >= 0; --step) {
        const int peer = group[bine.peer(group.rank, step)];
        MPIRIC_TRY(reduction.exchange(operands.partial, count, peer, operands.incoming, count, peer));
        MPIRIC_TRY(bine.is_upper(group.rank, step) ? operands.join_from_left(reduction, count)
                                                   : operands.join_from_right(reduction, count));
    }
    return reduction.copy(operands.partial, data, count);
}

bool suits(const Workload& workload) { return can_divide(workload) && has_bine(workload); }

bool suits_doubling(const Workload& workload) { return workload.commutative && has_bine(workload); }

MPIRIC_ALGORITHMS({Collective::allreduce, "bine", "De Sensi et al. 2025", suits, whole_span,
                   in_place_of_all<halving>, ReductionOrder::fixed},
                  {Collective::allreduce, "bine_doubling", "De Sensi et al. 2025", suits_doubling, whole_span,
                   in_place_of_all<doubling>, ReductionOrder::fixed})

}  // namespace mpiric::coll::allreduce_bine
