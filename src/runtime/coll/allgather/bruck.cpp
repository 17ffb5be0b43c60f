// Bruck, with a radix. Blocks are kept in the order counted from the own rank; in each of ⌈log_k p⌉ rounds a
// rank gets up to k − 1 runs of the blocks that follow its own, all under way at once. A rotation ends it.
//
// Cost: ⌈log_k p⌉ α + (p − 1) mβ and one copy, for any p. Best for short blocks. Bruck et al.: Efficient
// Algorithms for All-to-All Communications in Multiport Message-Passing Systems. TPDS 1997.
#include "coll/allgather/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll::allgather_bruck {

template <int radix> int turn(const Team& team, const Group& group, char* data, const Blocks& blocks) {
    const int size = group.size, me = group.rank;
    const uint64_t block = blocks.size(0);
    const Scratch turned{block * uint64_t(size)};
    char* have = turned.data();
    if (!have)
        return MPI_ERR_NO_MEM;
    std::memcpy(have, data + block * uint64_t(me), block);
    for (int known = 1, next; known < size; known = next) {
        next = std::min(known * radix, size);
        Requests round{size_t(2 * radix)};
        for (int part = 1; part < radix && part * known < size; ++part) {
            const int shift = part * known;
            const uint64_t bytes = block * uint64_t(std::min(known, size - shift));
            MPIRIC_TRY(
                round.receive(team, have + block * uint64_t(shift), bytes, group[(me + shift) % size]));
            MPIRIC_TRY(round.send(team, have, bytes, group[(me - shift + size) % size]));
        }
        MPIRIC_TRY(round.wait());
    }
    const uint64_t first = block * uint64_t(size - me);
    std::memcpy(data + block * uint64_t(me), have, first);
    std::memcpy(data, have + first, block * uint64_t(me));
    return MPI_SUCCESS;
}

uint64_t scratch(const Workload& workload) { return 2 * gathering_scratch(workload); }

MPIRIC_ALGORITHMS(
    {Collective::allgather, "bruck_2", "Bruck et al. 1997", nullptr, scratch, on_row_of_all<turn<2>>},
    {Collective::allgather, "bruck_4", "Bruck et al. 1997", on_more_than<2>, scratch, on_row_of_all<turn<4>>},
    {Collective::allgather, "bruck_8", "Bruck et al. 1997", on_more_than<4>, scratch, on_row_of_all<turn<8>>})

}  // namespace mpiric::coll::allgather_bruck
