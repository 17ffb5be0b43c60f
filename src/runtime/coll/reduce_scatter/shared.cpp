// Shared memory. A slot holds a piece of every slice; each rank reduces the pieces of its own slice.
//
// Cost, in bytes of memory traffic per rank: n written, n read. Best on one node.
// Jain et al.: Framework for Scalable Intra-Node Collective Operations using Shared Memory. SC 2018.
#include "coll/board.hpp"
#include "coll/reduce_scatter/stages.hpp"

#include <cstring>

namespace mpiric::coll {

int shared_reduce_scatter(const Reduction& reduction, const void* input, void* result,
                          const Blocks& slices) noexcept {
    Board& board = reduction.team().board();
    const int ranks = board.size(), me = board.rank();
    const uint64_t extent = uint64_t(reduction.geometry().extent), longest = slices.largest(ranks);
    // Parts of a slot, and the place of the own slice among them: empty slices have none.
    uint64_t parts = 0, place = 0;
    for (int slice = 0; slice < ranks; ++slice) {
        place = slice == me ? parts : place;
        parts += slices.size(slice) > 0;
    }
    const uint64_t room = board.slot_bytes() / std::max<uint64_t>(1, parts) / extent;
    for (uint64_t done = 0; done < longest; done += room) {
        const uint64_t most = std::min(room, longest - done), stride = most * extent, whole = stride * parts;
        auto piece = [&](int slice) { return slices.left(slice, done, most); };
        char* part = board.fill(whole);
        // The own slice is needed there only where the order of operands counts.
        for (int slice = 0; slice < ranks; ++slice) {
            if (const uint64_t elements = piece(slice), first = slices.begin(slice) + done;
                elements && (slice != me || !reduction.commutative()))
                std::memcpy(part, reduction.at(input, MPI_Count(first)), elements * extent);
            part += slices.size(slice) ? stride : 0;
        }
        board.publish();
        const uint64_t own = slices.begin(me) + done;
        const MPI_Count mine = MPI_Count(piece(me));
        char* into = reduction.at(result, MPI_Count(own));
        const int first = reduction.commutative() ? me : ranks - 1;
        const void* start = first == me && reduction.commutative()
                                ? reduction.at(input, MPI_Count(own))
                                : board.look(first, whole) + stride * place;
        std::memmove(into, start, reduction.bytes(mine));  // the two may overlap if the call is in place
        for (int rank = ranks - 1; rank >= 0; --rank)
            if (rank != first)
                MPIRIC_TRY(reduction.reduce(board.look(rank, whole) + stride * place, into, mine));
        board.finish();
    }
    return MPI_SUCCESS;
}

namespace reduce_scatter_shared {

bool suits(const Workload& workload) { return reduces_on_node(workload) && workload.dense; }

/// The slice of this rank goes to the beginning of the receive buffer, as if that were a part of a whole
/// result. In place too: the overwritten operands have been read.
int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Blocks slices = blocks_of(call);
    char* whole =
        static_cast<char*>(call.receive) - reduction.bytes(MPI_Count(slices.begin(call.team.rank())));
    return shared_reduce_scatter(reduction, input_of(call), whole, slices);
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter, {Collective::reduce_scatter_block, "shared",
                                                       "Jain et al. 2018", suits, nullptr, run})

}  // namespace reduce_scatter_shared
}  // namespace mpiric::coll
