// Shared memory. Each rank shows its operand in its slot and reduces those of the ranks before it, in their
// order. Vectors longer than a slot go piece by piece.
//
// Cost, in bytes of memory traffic per rank: n written, up to p·n read. Best for short vectors on few ranks
// of one node. Graham, Shipman: MPI Support for Multi-core Architectures: Optimized Shared Memory
// Collectives. EuroPVM/MPI 2008.
#include "coll/board.hpp"
#include "coll/reduction.hpp"
#include "coll/suits.hpp"

#include <algorithm>
#include <cstring>

namespace mpiric::coll {
namespace scan_shared {

/// The ranks below this one count, and in an inclusive scan itself.
template <bool inclusive> int run(const Call& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    Board& board = call.team.board();
    const int last = inclusive ? call.team.rank() : call.team.rank() - 1;
    const MPI_Count most = reduction.per_slot(board.slot_bytes());
    for (MPI_Count done = 0; done < call.receive_count; done += most) {
        const MPI_Count piece = std::min(most, call.receive_count - done);
        const uint64_t span = span_of(reduction.geometry(), piece);
        const MPI_Aint offset = offset_of(reduction.geometry(), piece);
        std::memcpy(board.fill(span), reduction.at(input_of(call), done) + offset, span);
        board.publish();
        char* result = reduction.at(call.receive, done);
        if (last >= 0)
            MPIRIC_TRY(reduction.copy(board.look(last, span) - offset, result, piece));
        for (int rank = last - 1; rank >= 0; --rank)
            MPIRIC_TRY(reduction.reduce(board.look(rank, span) - offset, result, piece));
        board.finish();
    }
    return MPI_SUCCESS;
}

bool suits(const Shape& shape) { return on_one_node(shape) && elements_fit(shape); }

constinit const Algorithm registered[] = {
    {Collective::scan, "shared", "Graham, Shipman 2008", Order::fixed, suits, nullptr, run<true>},
    {Collective::exscan, "shared", "Graham, Shipman 2008", Order::fixed, suits, nullptr, run<false>},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace scan_shared
}  // namespace mpiric::coll
