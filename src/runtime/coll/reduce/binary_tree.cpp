// Pipelined binary tree. Segments travel up a balanced binary tree; each rank adds its own to those of two
// others and passes a segment on while the next come.
//
// Cost: (⌈log₂ p⌉ + n/s)(2α + 2sβ + 2sγ) for segments of s bytes. Best for long vectors on many ranks.
// Commutative operations only. Pješivac-Grbović et al.: Performance Analysis of MPI Collective Operations.
// Cluster Computing 10, 2007.
#include "coll/reduce/pipeline.hpp"

namespace mpiric::coll {
namespace reduce_binary_tree {

template <uint64_t segment> int run(const Call& call) {
    const int size = call.team.size(), relative_rank = (call.team.rank() - call.root + size) % size;
    auto member = [&](int relative) { return relative < size ? (relative + call.root) % size : nobody; };
    const Neighbours by{relative_rank == 0 ? nobody : member((relative_rank - 1) / 2),
                        {member(2 * relative_rank + 1), member(2 * relative_rank + 2)}};
    return on_a_copy(call, [&](const Reduction& reduction, char* data) {
        return reduce_pipeline(reduction, by, data, call.receive_count, segment);
    });
}

bool suits(const Shape& shape) { return has_segments<16384>(shape) && shape.layout.size > 3; }

constinit const Algorithm registered[] = {
    {Collective::reduce, "binary_tree_16k", "Pješivac-Grbović et al. 2007", Order::fixed, suits,
     copy_and_segments<16384>, run<16384>},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace reduce_binary_tree
}  // namespace mpiric::coll
