// Shared memory, divided work. Each rank reduces one slice of the vector from everybody's slots and shows it;
// the root copies the slices out.
//
// Cost, in bytes of memory traffic: n written and n read by each rank, n more at the root. Best for long
// vectors on one node. Jain et al.: Scalable Intra-Node Collective Operations using Shared Memory. SC 2018.
#include "coll/gather/stages.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::reduce_shared_slices {

int run(const Arguments& call) {
    return with_result(call, [&](const Reduction& reduction, char* result) -> int {
        const Blocks slices = Blocks::even(uint64_t(call.receive_count), call.team.size());
        MPIRIC_TRY(shared_reduce_scatter(reduction, input_of(call), result, slices));
        return shared_gather(call.team, call.root, result, slices.times(reduction.geometry().size));
    });
}

MPIRIC_ALGORITHMS({Collective::reduce, "shared_slices", "Jain et al. 2018", divides_on_node, whole_span, run})

}  // namespace mpiric::coll::reduce_shared_slices
