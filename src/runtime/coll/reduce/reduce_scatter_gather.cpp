// Reduce-scatter, then gather. A partial result for each block travels around the ring; the root then takes
// the finished blocks from all.
//
// Cost: 2 (p − 1) α + 2 (p − 1)/p nβ + (p − 1)/p nγ. Best for long vectors.
// Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004 (with a ring for the first half).
#include "coll/allreduce/stages.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::reduce_reduce_scatter_gather {

int run(const Arguments& call) {
    return on_a_copy(call, [&](const Reduction& reduction, char* data) {
        const int size = call.team.size(), me = call.team.rank();
        const Blocks blocks = Blocks::even(uint64_t(call.receive_count), size);
        auto at = [&](int rank) { return reduction.at(data, MPI_Count(blocks.begin(rank))); };
        auto count = [&](int rank) { return MPI_Count(blocks.size(rank)); };
        MPIRIC_TRY(ring_reduce_scatter(reduction, call.team.everyone(), data, blocks));
        if (me != call.root)
            return reduction.send(at(me), count(me), call.root);
        Requests coming{size_t(size)};
        for (int rank = 0; rank < size; ++rank)
            if (rank != me)
                MPIRIC_TRY(coming.receive(call.team, at(rank), count(rank), reduction.type(), rank));
        return coming.wait();
    });
}

MPIRIC_ALGORITHMS({Collective::reduce, "reduce_scatter_gather", "Rabenseifner 2004", can_divide, two_spans,
                   run})

}  // namespace mpiric::coll::reduce_reduce_scatter_gather
