// Pipelined chain. The vector travels towards the root from rank to rank in segments; each adds its own to a
// segment and passes it on while the next comes.
//
// Cost: (p − 2 + n/s)(α + sβ + sγ) for segments of s bytes. Best for long vectors on few ranks. Commutative
// operations only. Pješivac-Grbović et al.: Performance Analysis of MPI Collective Operations. Cluster
// Computing 10, 2007.
#include "coll/reduce/stages.hpp"

namespace mpiric::coll::reduce_chain {

template <uint64_t segment> int run(const Arguments& call) {
    return reduce_pipeline(call, chain_of(call), segment);
}

MPIRIC_ALGORITHMS({Collective::reduce, "chain_16k", "Pješivac-Grbović et al. 2007", has_segments<16384>,
                   copy_and_segments<16384>, run<16384>},
                  {Collective::reduce, "chain_128k", "Pješivac-Grbović et al. 2007", has_segments<131072>,
                   copy_and_segments<131072>, run<131072>})

}  // namespace mpiric::coll::reduce_chain
