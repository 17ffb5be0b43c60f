// Pipelined binary tree. Segments travel down a balanced binary tree; each rank passes a segment on to two
// others while the next comes.
//
// Cost: (⌈log₂ p⌉ + n/s)(2α + 2sβ) for segments of s bytes. Best for long messages on many ranks.
// Pješivac-Grbović et al.: Performance Analysis of MPI Collective Operations. Cluster Computing 10, 2007.
#include "coll/bcast/pipeline.hpp"

namespace mpiric::coll {
namespace bcast_binary_tree {

template <uint64_t segment> int run(const Call& call) {
    const int size = call.team.size(), relative_rank = (call.team.rank() - call.root + size) % size;
    auto member = [&](int relative) { return relative < size ? (relative + call.root) % size : nobody; };
    const Neighbours tree[1] = {{relative_rank == 0 ? nobody : member((relative_rank - 1) / 2),
                                 {member(2 * relative_rank + 1), member(2 * relative_rank + 2)}}};
    return as_bytes(
        call, [&](char* data, uint64_t bytes) { return pipeline(call.team, tree, data, bytes, segment); });
}

bool suits(const Shape& shape) { return shape.bytes > 16384 && shape.layout.size > 3; }

constinit const Algorithm registered[] = {
    {Collective::bcast, "binary_tree_16k", "Pješivac-Grbović et al. 2007", Order::none, suits, packed_bytes,
     run<16384>},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace bcast_binary_tree
}  // namespace mpiric::coll
