// Shared memory. Each rank shows its operand in its slot; the root reduces the slots in the order of ranks.
// Vectors longer than a slot go piece by piece.
//
// Cost, in bytes of memory traffic: n written by each rank, p·n read by the root. Best on one node with few
// ranks. Graham, Shipman: MPI Support for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/board.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/suits.hpp"

#include <algorithm>
#include <cstring>

namespace mpiric::coll {

int reduce_slots(const Reduction& reduction, const void* input, void* result, MPI_Count count,
                 int ranks) noexcept {
    Board& board = reduction.team().board();
    const MPI_Count most = reduction.per_slot(board.slot_bytes());
    for (MPI_Count done = 0; done < count; done += most) {
        const MPI_Count piece = std::min(most, count - done);
        const uint64_t span = span_of(reduction.geometry(), piece);
        const MPI_Aint offset = offset_of(reduction.geometry(), piece);
        std::memcpy(board.fill(span), reduction.at(input, done) + offset, span);
        board.publish();
        char* into = reduction.at(result, done);
        if (ranks > 0)
            MPIRIC_TRY(reduction.copy(board.look(ranks - 1, span) - offset, into, piece));
        for (int rank = ranks - 2; rank >= 0; --rank)
            MPIRIC_TRY(reduction.reduce(board.look(rank, span) - offset, into, piece));
        board.finish();
    }
    return MPI_SUCCESS;
}

int shared_reduce(const Reduction& reduction, int root, const void* input, void* result,
                  MPI_Count count) noexcept {
    const Group& local = reduction.team().local();
    return reduce_slots(reduction, input, result, count, local.rank == root ? local.size : 0);
}

namespace reduce_shared {

int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    return shared_reduce(reduction, call.team.local_rank(call.root), input_of(call), call.receive,
                         call.receive_count);
}

MPIRIC_ALGORITHMS({Collective::reduce, "shared", "Graham, Shipman 2008", reduces_on_node, nullptr, run})

}  // namespace reduce_shared
}  // namespace mpiric::coll
