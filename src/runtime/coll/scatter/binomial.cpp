// Binomial tree. The root hands half of all blocks to the rank half way round, and each rank that has blocks
// of others goes on in the same way.
//
// Cost: ⌈log₂ p⌉ α + (p − 1)/p · pmβ for blocks of m bytes. Best for short blocks on many ranks.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/knomial.hpp"
#include "coll/scatter/stages.hpp"

namespace mpiric::coll {
namespace {

/// `row` has room for the blocks of this rank's subtree, in the order counted from the root.
int descend(const Call& call, char* row, uint64_t block, int reach) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size;
    auto rank = [&](int relative) { return (relative + call.root) % size; };
    auto blocks = [&](int relative, int step) { return block * uint64_t(std::min(step, size - relative)); };
    if (here)
        MPIRIC_TRY(receive(call.team, row, blocks(here, reach), rank(here - reach)));
    for (int step = reach / 2; step > 0; step /= 2)
        if (here + step < size)
            MPIRIC_TRY(
                send(call.team, row + block * uint64_t(step), blocks(here + step, step), rank(here + step)));
    return MPI_SUCCESS;
}

int run(const Call& call) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size,
              reach = knomial_reach(here, size, 2);
    return scatter_by_tree(call, reach,
                           [&](char* row, uint64_t block) { return descend(call, row, block, reach); });
}

constinit const Algorithm algorithm{
    Collective::scatter, "binomial", "Thakur et al. 2005", Order::none, nullptr, all_blocks, run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
