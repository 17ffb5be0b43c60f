// Recursive multiplying. As recursive doubling, but in groups of up to k: p is a product of factors, and in
// the round of factor f a rank exchanges all blocks it has, which are a row, with f − 1 others at once. For p
// with factors up to k only.
//
// Cost: α a factor, at best log_k p α, and (p − 1) mβ for blocks of m bytes. Best for short and middling
// blocks where a rank keeps several messages under way. Chilkuri et al.: Generalized Collective Algorithms
// for the Exascale Era. CLUSTER 2023.
#include "coll/allgather/stages.hpp"
#include "coll/factors.hpp"

namespace mpiric::coll {
namespace allgather_recursive_multiplying {

template <int radix> int run(const Call& call) {
    Gathering gathering{call};
    MPIRIC_TRY(gathering.begin());
    const Blocks& blocks = gathering.blocks();
    char* data = gathering.data();
    const int size = call.team.size(), me = call.team.rank();
    for (int have = 1, factor; have < size; have *= factor) {
        factor = largest_factor(size / have, radix);
        const int digit = me / have % factor;
        auto bytes = [&](int first) { return blocks.begin(first + have) - blocks.begin(first); };
        const int mine = me - me % have;
        Requests round{size_t(2 * radix)};
        for (int step = 1; step < factor; ++step) {
            const int from = me + ((digit + factor - step) % factor - digit) * have,
                      to = me + ((digit + step) % factor - digit) * have, first = from - from % have;
            MPIRIC_TRY(round.receive(call.team, data + blocks.begin(first), bytes(first), from));
            MPIRIC_TRY(round.send(call.team, data + blocks.begin(mine), bytes(mine), to));
        }
        MPIRIC_TRY(round.wait());
    }
    return gathering.end();
}

template <int radix> bool suits(const Shape& shape) {
    return multiplies_out(shape.layout.size, radix, radix / 2);
}

constinit const Algorithm registered[] = {
    {Collective::allgather, "recursive_multiplying_4", "Chilkuri et al. 2023", Order::none, suits<4>,
     gathering_scratch, run<4>},
    {Collective::allgather, "recursive_multiplying_8", "Chilkuri et al. 2023", Order::none, suits<8>,
     gathering_scratch, run<8>},
    {Collective::allgatherv, "recursive_multiplying_4", "Chilkuri et al. 2023", Order::none, suits<4>,
     gathering_scratch, run<4>},
    {Collective::allgatherv, "recursive_multiplying_8", "Chilkuri et al. 2023", Order::none, suits<8>,
     gathering_scratch, run<8>},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace allgather_recursive_multiplying
}  // namespace mpiric::coll
