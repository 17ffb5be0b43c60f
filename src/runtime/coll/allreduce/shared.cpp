// Shared memory. Each rank shows its operand in its slot, reads the slots of all others and reduces them in
// the order of ranks. Vectors longer than a slot go piece by piece.
//
// Cost, in bytes of memory traffic per rank: n written, p·n read; one cache line from each other rank when
// short. Best for short vectors on few ranks of one node. Graham, Shipman: MPI Support for Multi-core
// Architectures: Optimized Shared Memory Collectives. EuroPVM/MPI 2008.
#include "coll/allreduce/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {
namespace {

/// result = slot 0 ∘ slot 1 ∘ … of this step.
int reduce_slots(const Reduction& reduction, Board& board, uint64_t span, MPI_Aint offset, char* result,
                 MPI_Count count) noexcept {
    const int last = board.size() - 1;
    MPIRIC_TRY(reduction.copy(board.look(last, span) - offset, result, count));
    for (int rank = last - 1; rank >= 0; --rank)
        MPIRIC_TRY(reduction.reduce(board.look(rank, span) - offset, result, count));
    return MPI_SUCCESS;
}

}  // namespace

int shared_allreduce(const Reduction& reduction, const void* input, void* result, MPI_Count count) noexcept {
    Board& board = reduction.team().board();
    const MPI_Count most = reduction.per_slot(board.slot_bytes());
    for (MPI_Count done = 0; done < count; done += most) {
        const MPI_Count piece = std::min(most, count - done);
        const uint64_t span = span_of(reduction.geometry(), piece);
        const MPI_Aint offset = offset_of(reduction.geometry(), piece);
        std::memcpy(board.fill(span), reduction.at(input, done) + offset, span);
        board.publish();
        MPIRIC_TRY(reduce_slots(reduction, board, span, offset, reduction.at(result, done), piece));
        board.finish();
    }
    return MPI_SUCCESS;
}

namespace allreduce_shared {

int run(const Call& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    return shared_allreduce(reduction, input_of(call), call.receive, call.receive_count);
}

constinit const Algorithm registered[] = {
    {Collective::allreduce, "shared", "Graham, Shipman 2008", Order::fixed,
     [](const Shape& shape) { return on_one_node(shape) && elements_fit(shape); }, nullptr, run},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace allreduce_shared
}  // namespace mpiric::coll
