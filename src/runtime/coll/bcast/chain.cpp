// Pipelined chain. The message travels from rank to rank in segments; each passes them on.
//
// Cost: (p − 2 + n/s)(α + sβ) for segments of s bytes. Best for long messages on few ranks. Träff, Ripke:
// Optimal Broadcast for Fully Connected Processor-Node Networks. JPDC 2008.
#include "coll/bcast/stages.hpp"

namespace mpiric::coll::bcast_chain {

template <uint64_t segment> int run(const Arguments& call) {
    return pipeline<1>(call, {chain_of(call)}, segment);
}

template <uint64_t segment> bool suits(const Workload& workload) { return workload.bytes > segment; }

MPIRIC_ALGORITHMS({Collective::bcast, "chain_16k", "Träff, Ripke 2008", suits<16384>, packed_bytes,
                   run<16384>},
                  {Collective::bcast, "chain_128k", "Träff, Ripke 2008", suits<131072>, packed_bytes,
                   run<131072>})

}  // namespace mpiric::coll::bcast_chain
