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

/// Calls `each(begin in data, begin in row, bytes)` for blocks that are gathered in a row; its length.
template <class Each> uint64_t for_each(const std::vector<int>& which, const Blocks& blocks, Each&& each) {
    uint64_t at = 0;
    for (const int block : which) {
        each(blocks.begin(block), at, blocks.size(block));
        at += blocks.size(block);
    }
    return at;
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
        const uint64_t bytes = for_each(mine, blocks, [&](uint64_t begin, uint64_t at, uint64_t size) {
            std::memcpy(out.data() + at, data + begin, size);
        });
        const uint64_t expected = for_each(peer_blocks, blocks, [](uint64_t, uint64_t, uint64_t) {});
        MPIRIC_TRY(exchange(team, out.data(), bytes, group[peer], in.data(), expected, group[peer]));
        for_each(peer_blocks, blocks, [&](uint64_t begin, uint64_t at, uint64_t size) {
            std::memcpy(data + begin, in.data() + at, size);
        });
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
                   in_place_of_all<swing>})

}  // namespace mpiric::coll::allreduce_swing
