// Shared memory. Each rank shows its block in its slot and copies everybody else's out.
//
// Cost, in bytes of memory traffic per rank: one block written, all others copied. Best for short blocks.
// Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/allgather/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {

int shared_allgather(const Team& team, char* data, const Blocks& blocks, int first) noexcept {
    Board& board = team.board();
    const uint64_t room = board.slot_bytes();
    const uint64_t longest = blocks.largest(board.size(), first);
    for (uint64_t done = 0; done < longest; done += room) {
        auto piece = [&](int rank) { return blocks.left(first + rank, done, room); };
        if (const uint64_t bytes = piece(board.rank())) {
            std::memcpy(board.fill(bytes), data + blocks.begin(first + board.rank()) + done, bytes);
            board.publish();
        }
        for (int step = 1; step < board.size(); ++step) {
            const int rank = (board.rank() + step) % board.size();
            if (const uint64_t bytes = piece(rank))
                std::memcpy(data + blocks.begin(first + rank) + done, board.look(rank, bytes), bytes);
        }
        board.finish();
    }
    return MPI_SUCCESS;
}

namespace allgather_shared {

int run(const Arguments& call) {
    return on_row(
        call, [&](char* data, const Blocks& blocks) { return shared_allgather(call.team, data, blocks); });
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv, {Collective::allgather, "shared", "Graham, Shipman 2008",
                                                   on_one_node, gathering_scratch, run})

}  // namespace allgather_shared
}  // namespace mpiric::coll
