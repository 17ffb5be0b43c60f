// Shared memory. Each rank shows its operand in its slot, reads the slots of all others and reduces them in
// the order of ranks. Vectors longer than a slot go piece by piece.
//
// Cost, in bytes of memory traffic per rank: n written, p·n read; one cache line from each other rank when
// short. Best for short vectors on few ranks of one node. Graham, Shipman: MPI Support for Multi-core
// Architectures: Optimized Shared Memory Collectives. EuroPVM/MPI 2008.
#include "coll/reduce/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::allreduce_shared {

int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    return reduce_slots(reduction, input_of(call), call.receive, call.receive_count, call.team.size());
}

MPIRIC_ALGORITHMS({Collective::allreduce, "shared", "Graham, Shipman 2008", reduces_on_node, nullptr, run})

}  // namespace mpiric::coll::allreduce_shared
