// Direct reads. Each rank reads its slice of everybody's vector from their memory, reduces it, and then reads
// the finished slices of the others: one copy each, made by the kernel, in pieces that stay in the cache.
//
// Cost, in bytes of memory traffic per rank: (p − 1)/p n read twice. Best for long vectors on one node.
// Goglin, Moreaud: KNEM: a Generic and Scalable Kernel-Assisted Intra-node MPI Framework. JPDC 2013.
#include "coll/allreduce/stages.hpp"
#include "coll/blocks.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::allreduce_direct {

constexpr uint64_t piece_bytes = 128 << 10;

struct Buffers {
    const char* input;
    char* result;
};

/// Reduces slice `me` of all inputs into the own result.
int reduce_slice(const Reduction& reduction, Board& board, const Blocks& slices,
                 const std::vector<Buffers>& of) {
    const int me = board.rank();
    const uint64_t extent = reduction.geometry().size, most = std::max<uint64_t>(1, piece_bytes / extent);
    const Elements incoming{reduction, MPI_Count(most)};
    MPIRIC_TRY(incoming.error());
    const Buffers& own = of[size_t(me)];
    for (uint64_t done = 0; done < slices.size(me); done += most) {
        const uint64_t first = slices.begin(me) + done, left = slices.size(me) - done;
        const MPI_Count count = MPI_Count(std::min(most, left)), begin = MPI_Count(first);
        char* into = reduction.at(own.result, begin);
        MPIRIC_TRY(reduction.copy(reduction.at(own.input, begin), into, count));
        for (int rank = 0; rank < board.size(); ++rank) {
            if (rank == me)
                continue;
            if (!board.read(rank, reduction.at(of[size_t(rank)].input, begin), incoming.data(),
                            reduction.bytes(count)))
                return MPI_ERR_OTHER;
            MPIRIC_TRY(reduction.reduce(incoming.data(), into, count));
        }
    }
    return MPI_SUCCESS;
}

int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    Board& board = call.team.board();
    const Blocks slices = Blocks::even(uint64_t(call.receive_count), board.size());
    board.announce(Buffers{static_cast<const char*>(input_of(call)), static_cast<char*>(call.receive)});
    std::vector<Buffers> of(static_cast<size_t>(board.size()));
    for (int rank = 0; rank < board.size(); ++rank)
        of[size_t(rank)] = board.announced_by<Buffers>(rank);
    int code = reduce_slice(reduction, board, slices, of);
    board.finish();
    board.await_all();
    const Blocks bytes = slices.times(reduction.geometry().size);
    for (int step = 1; step < board.size(); ++step) {
        const int rank = (board.rank() + step) % board.size();
        if (!board.read(rank, of[size_t(rank)].result + bytes.begin(rank),
                        of[size_t(board.rank())].result + bytes.begin(rank), bytes.size(rank)))
            code = MPI_ERR_OTHER;
    }
    board.finish();
    board.await_all();
    return code;
}

MPIRIC_ALGORITHMS({Collective::allreduce, "direct", "Goglin, Moreaud 2013",
                   [](const Workload& workload) { return reads_directly(workload) && can_divide(workload); },
                   [](const Workload& workload) { return piece_bytes + workload.span / workload.count; },
                   run})

}  // namespace mpiric::coll::allreduce_direct
