// Direct reads. Each rank announces the address of its block, and copies all other blocks from the memory of
// their ranks: one copy, made by the kernel.
//
// Cost, in bytes of memory traffic per rank: all other blocks read and written once, p − 1 system calls. Best
// for long blocks on one node. Goglin, Moreaud: KNEM: a Generic and Scalable Kernel-Assisted Intra-node MPI
// Communication Framework. JPDC 73(2), 2013; process_vm_readv(2).
#include "coll/allgather/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::allgather_direct {

int run(const Arguments& call) {
    return on_row(call, [&](char* data, const Blocks& blocks) {
        Board& board = call.team.board();
        board.announce(data);
        bool read = true;
        for (int step = 1; step < board.size(); ++step) {
            const int rank = (board.rank() + step) % board.size();
            const char* there = board.announced_by<char*>(rank);
            read &=
                board.read(rank, there + blocks.begin(rank), data + blocks.begin(rank), blocks.size(rank));
        }
        board.finish();
        board.await_all();
        return read ? MPI_SUCCESS : MPI_ERR_OTHER;
    });
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv, {Collective::allgather, "direct", "Goglin, Moreaud 2013",
                                                   reads_directly, gathering_scratch, run})

}  // namespace mpiric::coll::allgather_direct
