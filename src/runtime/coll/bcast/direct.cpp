// Direct reads. The root announces the address of its message, and each rank copies it from the root's
// memory: one copy, made by the kernel. The root waits until all have it.
//
// Cost, in bytes of memory traffic per rank: n read and written once, and a system call. Best for long
// messages on one node. Goglin, Moreaud: KNEM: a Generic and Scalable Kernel-Assisted Intra-node MPI
// Communication Framework. JPDC 73(2), 2013; process_vm_readv(2).
#include "coll/bcast/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::bcast_direct {

int run(const Arguments& call) {
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        Board& board = call.team.board();
        const bool is_root = board.rank() == call.root;
        if (is_root)
            board.announce(data);
        const bool read = is_root || board.read(call.root, board.announced_by<char*>(call.root), data, bytes);
        board.finish();
        if (is_root)
            board.await_all();
        return read ? MPI_SUCCESS : MPI_ERR_OTHER;
    });
}

MPIRIC_ALGORITHMS({Collective::bcast, "direct", "Goglin, Moreaud 2013", reads_directly, packed_bytes, run})

}  // namespace mpiric::coll::bcast_direct
