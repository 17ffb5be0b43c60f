// Shared memory. The root's slot holds a piece of every block; each rank copies its own out.
//
// Cost, in bytes of memory traffic: all blocks written by the root, one copied by each rank. Best for short
// blocks on one node. Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/board.hpp"
#include "coll/scatter/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {

namespace {

/// Steps of the board, each with a piece of every block but the root's: `step(done, piece)`.
template <typename Step> void in_pieces(Board& board, const Blocks& blocks, Step step) noexcept {
    const uint64_t room = board.slot_bytes() / uint64_t(board.size() - 1),
                   block = blocks.largest(board.size());
    for (uint64_t done = 0; done < block; done += room) {
        step(done, std::min(room, block - done));
        board.finish();
    }
}

/// The root's own block takes no room in a slot: those behind it move up.
uint64_t position(int rank, int root) noexcept { return uint64_t(rank - (rank > root)); }

int give(Board& board, const char* row, char* own, const Blocks& blocks) noexcept {
    const int size = board.size(), root = board.rank();
    std::memcpy(own, row + blocks.begin(root), blocks.size(root));
    in_pieces(board, blocks, [&](uint64_t done, uint64_t piece) {
        char* slot = board.fill(piece * uint64_t(size - 1));
        for (int rank = 0; rank < size; ++rank)
            if (rank != root)
                std::memcpy(slot + piece * position(rank, root), row + blocks.begin(rank) + done, piece);
        board.publish();
    });
    return MPI_SUCCESS;
}

int take(Board& board, int root, char* own, const Blocks& blocks) noexcept {
    in_pieces(board, blocks, [&](uint64_t done, uint64_t piece) {
        const char* slot = board.look(root, piece * uint64_t(board.size() - 1));
        std::memcpy(own + done, slot + piece * position(board.rank(), root), piece);
    });
    return MPI_SUCCESS;
}

}  // namespace

int shared_scatter(const Team& team, int root, const char* row, char* own, const Blocks& blocks) noexcept {
    Board& board = team.board();
    return board.rank() == root ? give(board, row, own, blocks) : take(board, root, own, blocks);
}

namespace scatter_shared {

int run(const Arguments& call) {
    const Team& team = call.team;
    if (team.rank() != call.root) {
        Target own{team, call.receive, call.receive_count, call.receive_type};
        MPIRIC_TRY(own.error());
        MPIRIC_TRY(take(team.board(), call.root, own.data(), Blocks::equal(own.bytes())));
        return own.store();
    }
    const Source row{team, call.send, call.send_count * team.size(), call.send_type};
    MPIRIC_TRY(row.error());
    const Blocks blocks = Blocks::equal(row.bytes() / uint64_t(team.size()));
    if (call.receive == MPI_IN_PLACE) {
        const Scratch nowhere{blocks.size(0)};
        return nowhere.data() ? give(team.board(), row.data(), nowhere.data(), blocks) : MPI_ERR_NO_MEM;
    }
    Target own{team, call.receive, call.receive_count, call.receive_type};
    MPIRIC_TRY(own.error());
    MPIRIC_TRY(give(team.board(), row.data(), own.data(), blocks));
    return own.store();
}

MPIRIC_ALGORITHMS(
    {Collective::scatter, "shared", "Graham, Shipman 2008", on_one_node,
     [](const Workload& workload) { return workload.bytes * uint64_t(workload.layout.size + 1); }, run})

}  // namespace scatter_shared
}  // namespace mpiric::coll
