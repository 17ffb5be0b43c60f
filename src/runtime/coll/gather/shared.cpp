// Shared memory. Each rank shows its block in its slots, piece by piece; the root copies them out.
//
// Cost, in bytes of memory traffic: one block written by each rank, all read by the root. Best for short
// blocks on one node. Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/board.hpp"
#include "coll/gather/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {
namespace {

/// `own` is this rank's block, `row` where the root wants all.
int gather_pieces(Board& board, int root, const char* own, char* row, const Blocks& blocks,
                  int first = 0) noexcept {
    const uint64_t room = board.slot_bytes();
    const uint64_t longest = blocks.largest(board.size(), first);
    for (uint64_t done = 0; done < longest; done += room) {
        auto piece = [&](int rank) { return blocks.left(first + rank, done, room); };
        if (const uint64_t bytes = piece(board.rank()); bytes && board.rank() != root) {
            std::memcpy(board.fill(bytes), own + done, bytes);
            board.publish();
        }
        for (int rank = 0; board.rank() == root && rank < board.size(); ++rank)
            if (const uint64_t bytes = piece(rank); bytes && rank != root)
                std::memcpy(row + blocks.begin(first + rank) + done, board.look(rank, bytes), bytes);
        board.finish();
    }
    return MPI_SUCCESS;
}

}  // namespace

int shared_gather(const Team& team, int root, char* data, const Blocks& blocks, int first) noexcept {
    const char* own = data + blocks.begin(first + team.board().rank());
    return gather_pieces(team.board(), root, own, data, blocks, first);
}

namespace gather_shared {

int run(const Arguments& call) {
    Board& board = call.team.board();
    if (call.team.rank() != call.root) {
        const Source own{call.team, call.send, call.send_count, call.send_type};
        MPIRIC_TRY(own.error());
        return gather_pieces(board, call.root, own.data(), nullptr, Blocks::equal(own.bytes()));
    }
    Target row{call.team, call.receive, call.receive_count * call.team.size(), call.receive_type};
    MPIRIC_TRY(row.error());
    const Blocks blocks = Blocks::equal(row.bytes() / uint64_t(call.team.size()));
    char* own = row.data() + blocks.begin(call.root);
    MPIRIC_TRY(pack_own(call, own));
    MPIRIC_TRY(gather_pieces(board, call.root, own, row.data(), blocks));
    return row.store();
}

MPIRIC_ALGORITHMS({Collective::gather, "shared", "Graham, Shipman 2008", on_one_node, all_blocks, run})

}  // namespace gather_shared
}  // namespace mpiric::coll
