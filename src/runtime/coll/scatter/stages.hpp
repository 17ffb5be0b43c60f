// Scatter: stages of the algorithms of this folder and of algorithms that end with a scatter.
#pragma once

#include "coll/blocks.hpp"
#include "coll/buffers.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

/// Over the ranks of this node, through the board: local rank r gets block r of the root's `row`.
int shared_scatter(const Team& team, int root, const char* row, char* own, const Blocks& blocks) noexcept;

/// Bytes of one rank's block.
inline uint64_t scattered_block_of(const Arguments& call) noexcept {
    const bool root = call.team.rank() == call.root;
    return world::size_of(root ? call.send_type : call.receive_type) *
           uint64_t(root ? call.send_count : call.receive_count);
}

/// Over all ranks, in the order counted from the root: `descend(row, block)` has room for the blocks of this
/// rank's subtree, `reach` ranks as far as there are any; the root has all in it, the others get theirs.
template <class Descend> int scatter_by_tree(const Arguments& call, int reach, Descend descend) {
    const int size = call.team.size(), relative_rank = (call.team.rank() - call.root + size) % size;
    const bool root = relative_rank == 0;
    const uint64_t block = scattered_block_of(call);
    const Scratch row{block * uint64_t(std::min(reach, size - relative_rank))};
    if (!row.data())
        return MPI_ERR_NO_MEM;
    for (int relative = 0; root && relative < size; ++relative) {
        const int rank = (relative + call.root) % size;
        MPIRIC_TRY(pack(call.team, sent_by(call).at(rank), call.send_count, call.send_type,
                        row.data() + block * uint64_t(relative)));
    }
    MPIRIC_TRY(descend(row.data(), block));
    if (call.receive == MPI_IN_PLACE)
        return MPI_SUCCESS;
    return unpack(call.team, row.data(), call.receive, call.receive_count, call.receive_type);
}

}  // namespace mpiric::coll
