// Gather: stages of the algorithms of this folder and of algorithms that end with a gather.
#pragma once

#include "coll/blocks.hpp"
#include "coll/buffers.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

/// Over the ranks of this node, through the board: local rank `root` gets block first + r of `data`, in
/// bytes, from local rank r.
int shared_gather(const Team& team, int root, char* data, const Blocks& blocks, int first = 0) noexcept;

/// Bytes of one rank's block.
inline uint64_t block_of(const Arguments& call) noexcept {
    const bool root = call.team.rank() == call.root;
    return world::size_of(root ? call.receive_type : call.send_type) *
           uint64_t(root ? call.receive_count : call.send_count);
}

/// Over all ranks, in the order counted from the root: `climb(row, block)` has this rank's block at the front
/// of a row with room for the blocks of its subtree, at most `reach` ranks, and leaves all of them there on
/// the root.
template <class Climb> int gather_by_tree(const Arguments& call, int reach, Climb climb) {
    const int size = call.team.size(), relative_rank = (call.team.rank() - call.root + size) % size;
    const bool root = relative_rank == 0;
    const uint64_t block = block_of(call);
    const Scratch row{block * uint64_t(std::min(reach, size - relative_rank))};
    if (!row.data())
        return MPI_ERR_NO_MEM;
    const bool in_place = call.send == MPI_IN_PLACE;
    if (!in_place)
        MPIRIC_TRY(pack(call.team, call.send, call.send_count, call.send_type, row.data()));
    MPIRIC_TRY(climb(row.data(), block));
    for (int relative = in_place; root && relative < size; ++relative) {
        const int rank = (relative + call.root) % size;
        MPIRIC_TRY(unpack(call.team, row.data() + block * uint64_t(relative), received_by(call).at(rank),
                          call.receive_count, call.receive_type));
    }
    return MPI_SUCCESS;
}

}  // namespace mpiric::coll
