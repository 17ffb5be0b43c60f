// Shared memory. The root shows the message in its slots, piece by piece; all others copy it out meanwhile.
//
// Cost, in bytes of memory traffic: n written once, n read by each. Best for short messages on one node.
// Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/bcast/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {

int shared_bcast(const Team& team, int root, char* data, uint64_t bytes) noexcept {
    Board& board = team.board();
    const uint64_t room = board.slot_bytes();
    for (uint64_t done = 0; done < bytes; done += room) {
        const uint64_t piece = std::min(room, bytes - done);
        if (board.rank() == root) {
            std::memcpy(board.fill(piece), data + done, piece);
            board.publish();
        } else {
            std::memcpy(data + done, board.look(root, piece), piece);
        }
        board.finish();
    }
    return MPI_SUCCESS;
}

namespace bcast_shared {

int run(const Arguments& call) {
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        return shared_bcast(call.team, call.team.local_rank(call.root), data, bytes);
    });
}

MPIRIC_ALGORITHMS({Collective::bcast, "shared", "Graham, Shipman 2008", on_one_node, packed_bytes, run})

}  // namespace bcast_shared
}  // namespace mpiric::coll
