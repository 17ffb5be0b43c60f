// Pipelined binary tree. Segments travel down a balanced binary tree; each rank passes them on to two others.
//
// Cost: (⌈log₂ p⌉ + n/s)(2α + 2sβ) for segments of s bytes. Best for long messages on many ranks.
// Pješivac-Grbović et al.: Performance Analysis of MPI Collective Operations. Cluster Computing 10, 2007.
#include "coll/bcast/stages.hpp"

namespace mpiric::coll::bcast_binary_tree {

template <uint64_t segment> int run(const Arguments& call) {
    return pipeline<1>(call, {binary_tree_of(call)}, segment);
}

bool suits(const Workload& workload) { return workload.bytes > 16384 && workload.layout.size > 3; }

MPIRIC_ALGORITHMS({Collective::bcast, "binary_tree_16k", "Pješivac-Grbović et al. 2007", suits, packed_bytes,
                   run<16384>})

}  // namespace mpiric::coll::bcast_binary_tree
