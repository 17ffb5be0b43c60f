// Shared memory. A slot holds a piece of every cell; each rank copies its own pieces out of all slots.
//
// Cost, in bytes of memory traffic per rank: (p − 1) cells written, as many copied. Best for short cells on
// one node. Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/alltoall/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll::alltoall_shared {

int run(const Arguments& call) {
    Rows rows{call};
    MPIRIC_TRY(rows.begin());
    Board& board = call.team.board();
    const int size = board.size(), me = board.rank();
    // The own cell takes no room: those behind it move up.
    const uint64_t room = board.slot_bytes() / uint64_t(size - 1);
    auto before = [](int writer, int reader) { return uint64_t(reader - (reader > writer)); };
    std::memcpy(rows.in(me), rows.out(me), rows.block());
    for (uint64_t done = 0; done < rows.block(); done += room) {
        const uint64_t piece = std::min(room, rows.block() - done), whole = piece * uint64_t(size - 1);
        char* slot = board.fill(whole);
        for (int to = 0; to < size; ++to)
            if (to != me)
                std::memcpy(slot + piece * before(me, to), rows.out(to) + done, piece);
        board.publish();
        for (int step = 1; step < size; ++step) {
            const int from = (me + step) % size;
            std::memcpy(rows.in(from) + done, board.look(from, whole) + piece * before(from, me), piece);
        }
        board.finish();
    }
    return rows.end();
}

MPIRIC_ALGORITHMS({Collective::alltoall, "shared", "Graham, Shipman 2008", on_one_node, two_rows, run})

}  // namespace mpiric::coll::alltoall_shared
