// Pairwise. In step k each rank sends the one k further its block, and reduces its own from the one k before.
//
// Cost: (p − 1) α + (p − 1)/p n (β + γ), for any p. Best for long vectors. Commutative operations only.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::reduce_scatter_pairwise {

int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Blocks blocks = blocks_of(call);
    const int size = call.team.size(), me = call.team.rank();
    const MPI_Count own = MPI_Count(blocks.size(me));
    const Elements sum{reduction, own}, incoming{reduction, own};
    MPIRIC_TRY(sum.error());
    MPIRIC_TRY(incoming.error());
    const void* input = input_of(call);
    MPIRIC_TRY(reduction.copy(reduction.at(input, MPI_Count(blocks.begin(me))), sum.data(), own));
    for (int step = 1; step < size; ++step) {
        const int to = (me + step) % size, from = (me + size - step) % size;
        MPIRIC_TRY(reduction.exchange(reduction.at(input, MPI_Count(blocks.begin(to))),
                                      MPI_Count(blocks.size(to)), to, incoming.data(), own, from));
        MPIRIC_TRY(reduction.reduce(incoming.data(), sum.data(), own));
    }
    return reduction.copy(sum.data(), call.receive, own);
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter,
                          {Collective::reduce_scatter_block, "pairwise", "Thakur et al. 2005", is_commutative,
                           copy_and_more, run})

}  // namespace mpiric::coll::reduce_scatter_pairwise
