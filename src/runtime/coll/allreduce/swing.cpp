// Swing. A reduce-scatter in which ranks meet alternately to the right and to the left, over distances 1, 1,
// 3, 5, 11, …, then the same way back. For powers of two.
//
// Cost: 2 log₂ p α + 2 (p − 1)/p nβ + (p − 1)/p nγ, with fewer crossings of links on rings and tori than
// recursive halving. Best for middling and long vectors there. De Sensi, Bonato, Saam, Hoefler: Swing:
// Short-cutting Rings for Higher Bandwidth Allreduce. NSDI 2024.
#include "coll/reduce_scatter/stages.hpp"

#include "coll/allreduce/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll::allreduce_swing {

/// Gathers the blocks `which` of `data` into `row`, or puts them back.
uint64_t gather(const std::vector<int>& which, const Blocks& blocks, const char* data, char* row) noexcept {
    uint64_t at = 0;
    for (const int block : which) {
        std::memcpy(row + at, data + blocks.begin(block), blocks.size(block));
        at += blocks.size(block);
    }
    return at;
}

void put_back(const std::vector<int>& which, const Blocks& blocks, const char* row, char* data) noexcept {
    uint64_t at = 0;
    for (const int block : which) {
        std::memcpy(data + blocks.begin(block), row + at, blocks.size(block));
        at += blocks.size(block);
    }
}

int swing_allgather(const Team& team, const Group& group, char* data, const Blocks& blocks) noexcept {
    const Swing swing{group.size};
    const uint64_t whole = blocks.begin(group.size);
    const Scratch out{whole}, in{whole};
    if (!out.data() || !in.data())
        return MPI_ERR_NO_MEM;
    for (int step = swing.steps() - 1; step >= 0; --step) {
        const int peer = swing.peer(group.rank, step);
        const std::vector<int> mine = swing.from(group.rank, step + 1),
                               peer_blocks = swing.from(peer, step + 1);
        uint64_t expected = 0;
        for (const int block : peer_blocks)
            expected += blocks.size(block);
        const uint64_t bytes = gather(mine, blocks, data, out.data());
        MPIRIC_TRY(exchange(team, out.data(), bytes, group[peer], in.data(), expected, group[peer]));
        put_back(peer_blocks, blocks, in.data(), data);
    }
    return MPI_SUCCESS;
}

int swing(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    const Blocks blocks = Blocks::even(uint64_t(count), group.size);
    MPIRIC_TRY(swing_reduce_scatter(reduction, group, data, blocks));
    return swing_allgather(reduction.team(), group, data, blocks.times(reduction.geometry().size));
}

bool suits(const Workload& workload) { return can_divide(workload) && is_power(workload.layout.size); }

MPIRIC_ALGORITHMS({Collective::allreduce, "swing", "De Sensi et al. 2024", suits, two_spans,
                   in_place_of_all<swing>, ReductionOrder::fixed})

}  // namespace mpiric::coll::allreduce_swing
