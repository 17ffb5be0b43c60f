// Shared memory, divided work. Each rank reduces one slice of the vector from everybody's slots, then shows
// its slice to all. Inputs are copied once, and so are results.
//
// Cost, in bytes of memory traffic per rank: about 2n written and 3n read, whatever p. Best for long vectors
// on one node. Jain et al.: Scalable Intra-Node Collective Operations using Shared Memory. SC 2018.
#include "coll/allgather/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::allreduce_shared_slices {

int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const int size = call.team.size();
    const Blocks slices = Blocks::even(uint64_t(call.receive_count), size);
    MPIRIC_TRY(shared_reduce_scatter(reduction, input_of(call), call.receive, slices));
    return shared_allgather(call.team, static_cast<char*>(call.receive),
                            slices.times(reduction.geometry().size));
}

MPIRIC_ALGORITHMS({Collective::allreduce, "shared_slices", "Jain et al. 2018", divides_on_node, nullptr, run})

}  // namespace mpiric::coll::allreduce_shared_slices
