// Recursive multiplying. As recursive doubling, but in groups of up to k: p is a product of factors, and in
// the round of factor f a rank exchanges all blocks it has, with f − 1 others at once. For such p only.
//
// Cost: α a factor, at best log_k p α, and (p − 1) mβ for blocks of m bytes. Best for short and middling
// blocks where a rank keeps several messages under way. Chilkuri et al.: Generalized Collective Algorithms
// for the Exascale Era. CLUSTER 2023.
#include "coll/allgather/stages.hpp"

namespace mpiric::coll::allgather_recursive_multiplying {

template <int radix> int multiply(const Team& team, const Group& group, char* data, const Blocks& blocks) {
    const int size = group.size, me = group.rank;
    for (int have = 1, factor; have < size; have *= factor) {
        factor = largest_factor(size / have, radix);
        const int digit = me / have % factor;
        auto bytes = [&](int first) { return blocks.begin(first + have) - blocks.begin(first); };
        const int mine = me - me % have;
        Requests round{size_t(2 * radix)};
        for (int step = 1; step < factor; ++step) {
            const int from = me + ((digit + factor - step) % factor - digit) * have,
                      to = me + ((digit + step) % factor - digit) * have, first = from - from % have;
            MPIRIC_TRY(round.receive(team, data + blocks.begin(first), bytes(first), group[from]));
            MPIRIC_TRY(round.send(team, data + blocks.begin(mine), bytes(mine), group[to]));
        }
        MPIRIC_TRY(round.wait());
    }
    return MPI_SUCCESS;
}

template <int radix> bool suits(const Workload& workload) {
    return multiplies_out(workload.layout.size, radix, radix / 2);
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv,
                          {Collective::allgather, "recursive_multiplying_4", "Chilkuri et al. 2023", suits<4>,
                           gathering_scratch, on_row_of_all<multiply<4>>},
                          {Collective::allgather, "recursive_multiplying_8", "Chilkuri et al. 2023", suits<8>,
                           gathering_scratch, on_row_of_all<multiply<8>>})

}  // namespace mpiric::coll::allgather_recursive_multiplying
