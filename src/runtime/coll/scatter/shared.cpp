// Shared memory. The root's slot holds a piece of every block; each rank copies its own out.
//
// Cost, in bytes of memory traffic: all blocks written by the root, one copied by each rank. Best for short
// blocks on one node. Graham, Shipman: MPI Support for Multi-core Architectures: Optimized Shared Memory
// Collectives. EuroPVM/MPI 2008.
#include "coll/board.hpp"
#include "coll/scatter/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {

int shared_scatter(const Team& team, int root, const char* row, char* own, const Blocks& blocks) noexcept {
    Board& board = team.board();
    const int size = board.size(), me = board.rank();
    // The root's own block takes no room: those behind it move up.
    auto position = [&](int rank) { return uint64_t(rank - (rank > root)); };
    const uint64_t room = board.slot_bytes() / uint64_t(size - 1), block = blocks.largest(size);
    if (me == root)
        std::memcpy(own, row + blocks.begin(me), blocks.size(me));
    for (uint64_t done = 0; done < block; done += room) {
        const uint64_t piece = std::min(room, block - done), whole = piece * uint64_t(size - 1);
        if (me != root) {
            std::memcpy(own + done, board.look(root, whole) + piece * position(me), piece);
        } else {
            char* slot = board.fill(whole);
            for (int rank = 0; rank < size; ++rank)
                if (rank != root)
                    std::memcpy(slot + piece * position(rank), row + blocks.begin(rank) + done, piece);
            board.publish();
        }
        board.finish();
    }
    return MPI_SUCCESS;
}

namespace {

int run(const Call& call) {
    const Team& team = call.team;
    if (team.rank() != call.root) {
        Target own{team, call.receive, call.receive_count, call.receive_type};
        MPIRIC_TRY(own.error());
        MPIRIC_TRY(shared_scatter(team, call.root, nullptr, own.data(), Blocks::equal(own.bytes())));
        return own.store();
    }
    const Source row{team, call.send, call.send_count * team.size(), call.send_type};
    MPIRIC_TRY(row.error());
    const Blocks blocks = Blocks::equal(row.bytes() / uint64_t(team.size()));
    if (call.receive == MPI_IN_PLACE) {
        const Scratch nowhere{blocks.size(0)};
        return nowhere.data() ? shared_scatter(team, call.root, row.data(), nowhere.data(), blocks)
                              : MPI_ERR_NO_MEM;
    }
    Target own{team, call.receive, call.receive_count, call.receive_type};
    MPIRIC_TRY(own.error());
    MPIRIC_TRY(shared_scatter(team, call.root, row.data(), own.data(), blocks));
    return own.store();
}

constinit const Algorithm algorithm{
    Collective::scatter,
    "shared",
    "Graham, Shipman 2008",
    Order::none,
    on_one_node,
    [](const Shape& shape) { return shape.bytes * uint64_t(shape.layout.size + 1); },
    run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
