// Pipelined binary tree. Segments travel up a balanced binary tree; each rank adds its own to the segments of
// two others and passes a segment on while the next come.
//
// Cost: (⌈log₂ p⌉ + n/s)(2α + 2sβ + 2sγ) for segments of s bytes. Best for long vectors on many ranks.
// Commutative operations only. Pješivac-Grbović et al.: Performance Analysis of MPI Collective Operations.
// Cluster Computing 10, 2007.
#include "coll/reduce/stages.hpp"

namespace mpiric::coll::reduce_binary_tree {

template <uint64_t segment> int run(const Arguments& call) {
    return reduce_pipeline(call, binary_tree_of(call), segment);
}

bool suits(const Workload& workload) { return has_segments<16384>(workload) && workload.layout.size > 3; }

MPIRIC_ALGORITHMS({Collective::reduce, "binary_tree_16k", "Pješivac-Grbović et al. 2007", suits,
                   copy_and_segments<16384>, run<16384>})

}  // namespace mpiric::coll::reduce_binary_tree
