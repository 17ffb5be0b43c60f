// k-nomial tree. As the binomial tree, but a rank hands on the blocks of k − 1 others in each of ⌈log_k p⌉
// rounds, all of them under way at once.
//
// Cost: ⌈log_k p⌉ α + (p − 1) mβ for blocks of m bytes, with (k − 1)⌈log_k p⌉ messages under way on the root.
// Best for short blocks on many ranks. Chilkuri et al.: Generalized Collective Algorithms for the Exascale
// Era. CLUSTER 2023.
#include "coll/knomial.hpp"
#include "coll/scatter/stages.hpp"

namespace mpiric::coll {
namespace {

template <int radix> int run(const Call& call) {
    const Team& team = call.team;
    const int size = team.size(), here = (team.rank() - call.root + size) % size,
              reach = knomial_reach(here, size, radix);
    return scatter_by_tree(call, reach, [&](char* row, uint64_t block) {
        auto rank = [&](int relative) { return (relative + call.root) % size; };
        auto bytes = [&](int relative, int step) {
            return block * uint64_t(std::min(step, size - relative));
        };
        if (here)
            MPIRIC_TRY(receive(team, row, bytes(here, reach), rank(here - here % (reach * radix))));
        Requests sent{64};
        for (int step = reach / radix; step > 0; step /= radix)
            for (int child = here + step; child < std::min(here + radix * step, size); child += step)
                MPIRIC_TRY(
                    sent.send(team, row + block * uint64_t(child - here), bytes(child, step), rank(child)));
        return sent.wait();
    });
}

constinit const Algorithm four{
    Collective::scatter, "knomial_4", "Chilkuri et al. 2023", Order::none, on_more_than<2>,
    all_blocks,          run<4>};
constinit const Algorithm eight{
    Collective::scatter, "knomial_8", "Chilkuri et al. 2023", Order::none, on_more_than<4>,
    all_blocks,          run<8>};
MPIRIC_ALGORITHM(four)
MPIRIC_ALGORITHM(eight)

}  // namespace
}  // namespace mpiric::coll
