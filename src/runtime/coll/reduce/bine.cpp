// Bine tree. In each step the remaining ranks hand their partial results to their partner, the nearest
// first. For powers of two and commutative operations.
//
// Cost: log₂ p (α + nβ + nγ), as of the binomial tree. Fewer bytes leave groups of nodes whose sizes are not
// powers of two. De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication
// Locality. SC 2025.
#include "coll/bine.hpp"

#include "coll/reduce/stages.hpp"

namespace mpiric::coll::reduce_bine {

int tree(const Reduction& reduction, const Group& everyone, int root, char* data, MPI_Count count) noexcept {
    const Bine bine{everyone.size};
    const FromRoot ranks{everyone, root};
    const Elements other{reduction, count};
    MPIRIC_TRY(other.error());
    const int reached_in = bine.reached_in(ranks.me());
    for (int step = 0; step < reached_in; ++step) {
        MPIRIC_TRY(reduction.receive(other.data(), count, ranks[bine.peer(ranks.me(), step)]));
        MPIRIC_TRY(reduction.reduce(other.data(), data, count));
    }
    return ranks.me() ? reduction.send(data, count, ranks[bine.peer(ranks.me(), reached_in)]) : MPI_SUCCESS;
}

bool suits(const Workload& workload) { return workload.commutative && has_bine(workload); }

MPIRIC_ALGORITHMS({Collective::reduce, "bine", "De Sensi et al. 2025", suits, two_spans,
                   on_a_copy_of_all<tree>, ReductionOrder::fixed})

}  // namespace mpiric::coll::reduce_bine
