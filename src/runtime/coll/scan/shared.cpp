// Shared memory. Each rank shows its operand in its slot and reduces the operands of the ranks before it, in
// their order. Vectors longer than a slot go piece by piece.
//
// Cost, in bytes of memory traffic per rank: n written, up to p·n read. Best for short vectors on few ranks
// of one node. Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/reduce/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::scan_shared {

/// The ranks below this one count, and in an inclusive scan itself.
template <bool inclusive> int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const int ranks = call.team.rank() + inclusive;
    return reduce_slots(reduction, input_of(call), call.receive, call.receive_count, ranks);
}

MPIRIC_ALGORITHMS({Collective::scan, "shared", "Graham, Shipman 2008", reduces_on_node, nullptr, run<true>},
                  {Collective::exscan, "shared", "Graham, Shipman 2008", reduces_on_node, nullptr,
                   run<false>})

}  // namespace mpiric::coll::scan_shared
