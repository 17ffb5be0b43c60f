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

int direct_bcast(Board& board, int root, char* data, uint64_t bytes) noexcept {
    if (board.rank() == root) {
        board.announce(data);
        board.finish();
        board.await_all();
        return MPI_SUCCESS;
    }
    const bool read = board.read(root, board.announced_by<char*>(root), data, bytes);
    board.finish();
    return read ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int run(const Arguments& call) {
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        return direct_bcast(call.team.board(), call.root, data, bytes);
    });
}

MPIRIC_ALGORITHMS({Collective::bcast, "direct", "Goglin, Moreaud 2013", reads_directly, packed_bytes, run})

}  // namespace mpiric::coll::bcast_direct
