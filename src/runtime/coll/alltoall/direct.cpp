// Direct reads. Each rank announces the address of its row of cells and reads its own cell from the memory of
// every other rank: one copy, made by the kernel.
//
// Cost, in bytes of memory traffic per rank: p − 1 cells read and written once, p − 1 system calls. Best for
// long cells on one node. Goglin, Moreaud: KNEM: a Generic and Scalable Kernel-Assisted Intra-node MPI
// Communication Framework. JPDC 73(2), 2013; process_vm_readv(2).
#include "coll/alltoall/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll::alltoall_direct {

int run(const Arguments& call) {
    Rows rows{call};
    MPIRIC_TRY(rows.begin());
    Board& board = call.team.board();
    const int size = board.size(), me = board.rank();
    board.announce(rows.out(0));
    std::memcpy(rows.in(me), rows.out(me), rows.block());
    bool read = true;
    for (int step = 1; step < size; ++step) {
        const int from = (me + step) % size;
        const char* there = board.announced_by<const char*>(from);
        read &= board.read(from, there + rows.block() * uint64_t(me), rows.in(from), rows.block());
    }
    board.finish();
    board.await_all();
    return read ? rows.end() : MPI_ERR_OTHER;
}

MPIRIC_ALGORITHMS({Collective::alltoall, "direct", "Goglin, Moreaud 2013", reads_directly, two_rows, run})

}  // namespace mpiric::coll::alltoall_direct
