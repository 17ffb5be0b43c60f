// Shared memory, divided work. Each rank reduces one slice of the vector from everybody's slots and shows it;
// the root copies the slices out.
//
// Cost, in bytes of memory traffic: n written and n read by each rank, n more at the root. Best for long
// vectors on one node. Jain et al.: Framework for Scalable Intra-Node Collective Operations using Shared
// Memory. SC 2018.
#include "coll/gather/stages.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {
namespace reduce_shared_slices {

int run(const Call& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const bool root = call.team.rank() == call.root;
    const Blocks slices = Blocks::even(uint64_t(call.receive_count), call.team.size());
    const Elements work{reduction, root ? 0 : call.receive_count};
    MPIRIC_TRY(work.error());
    char* result = root ? static_cast<char*>(call.receive) : work.data();
    MPIRIC_TRY(shared_reduce_scatter(reduction, input_of(call), result, slices));
    return shared_gather(call.team, call.root, result, slices.times(reduction.geometry().size));
}

constinit const Algorithm registered[] = {
    {Collective::reduce, "shared_slices", "Jain et al. 2018", Order::fixed,
     [](const Shape& shape) {
         return on_one_node(shape) && elements_fit(shape) && shape.dense &&
                shape.count >= uint64_t(shape.layout.size);
     },
     [](const Shape& shape) { return shape.span; }, run},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace reduce_shared_slices
}  // namespace mpiric::coll
