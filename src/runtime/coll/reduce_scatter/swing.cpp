// Swing. Ranks meet as in recursive halving, but alternately to the right and to the left over distances
// 1, 1, 3, 5, 11, …: on tori and rings messages cross fewer links than with 1, 2, 4, 8. For powers of two.
//
// Cost: log₂ p α + (p − 1)/p n (β + γ), with less congestion; blocks are gathered into one message. Only this
// form, in which a block is reduced in one place, gives all ranks the same bits. De Sensi, Bonato, Saam,
// Hoefler: Swing: Short-cutting Rings for Higher Bandwidth Allreduce. NSDI 2024.
#include "coll/reduce_scatter/stages.hpp"

#include <algorithm>

namespace mpiric::coll {

std::vector<int> Swing::from(int rank, int step) const {
    std::vector<int> found{rank};
    for (int at = step; at < steps(); ++at)
        for (size_t known = 0, before = found.size(); known < before; ++known)
            found.push_back(peer(found[known], at));
    std::ranges::sort(found);
    return found;
}

namespace {

MPI_Count elements(const Blocks& blocks, const std::vector<int>& which) noexcept {
    uint64_t sum = 0;
    for (const int block : which)
        sum += blocks.size(block);
    return MPI_Count(sum);
}

}  // namespace

int swing_reduce_scatter(const Reduction& reduction, const Group& group, char* data,
                         const Blocks& blocks) noexcept {
    const Swing swing{group.size};
    const MPI_Count whole = MPI_Count(blocks.begin(group.size));
    const Elements out{reduction, whole}, in{reduction, whole};
    MPIRIC_TRY(out.error());
    MPIRIC_TRY(in.error());
    for (int step = 0; step < swing.steps(); ++step) {
        const int peer = swing.peer(group.rank, step);
        const std::vector<int> peer_blocks = swing.from(peer, step + 1),
                               mine = swing.from(group.rank, step + 1);
        MPI_Count at = 0;
        for (const int block : peer_blocks) {
            const MPI_Count count = MPI_Count(blocks.size(block));
            MPIRIC_TRY(reduction.copy(reduction.at(data, MPI_Count(blocks.begin(block))),
                                      reduction.at(out.data(), at), count));
            at += count;
        }
        MPIRIC_TRY(
            reduction.exchange(out.data(), at, group[peer], in.data(), elements(blocks, mine), group[peer]));
        at = 0;
        for (const int block : mine) {
            const MPI_Count count = MPI_Count(blocks.size(block));
            MPIRIC_TRY(reduction.reduce(reduction.at(in.data(), at),
                                        reduction.at(data, MPI_Count(blocks.begin(block))), count));
            at += count;
        }
    }
    return MPI_SUCCESS;
}

namespace reduce_scatter_swing {

bool suits(const Workload& workload) { return workload.commutative && is_power(workload.layout.size); }

uint64_t scratch(const Workload& workload) { return copy_and_more(workload) / 2 * 3; }

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter,
                          {Collective::reduce_scatter_block, "swing", "De Sensi et al. 2024", suits, scratch,
                           with_copy_of_all<swing_reduce_scatter>})

}  // namespace reduce_scatter_swing
}  // namespace mpiric::coll
