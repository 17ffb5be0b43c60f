// Binomial tree. In step k the ranks that are still in, counted from the root, hand all blocks they have to
// the one 2^k before.
//
// Cost: ⌈log₂ p⌉ α + (p − 1) mβ for blocks of m bytes. Best for short blocks on many ranks.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/gather/stages.hpp"
#include "coll/knomial.hpp"

namespace mpiric::coll {
namespace {

/// `row` has room for the blocks of this rank's subtree, in the order counted from the root; the own one is
/// there.
int climb(const Call& call, char* row, uint64_t block) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size;
    auto rank = [&](int relative) { return (relative + call.root) % size; };
    for (int bit = 1; bit < size; bit *= 2) {
        if (here & bit)
            return send(call.team, row, block * uint64_t(std::min(bit, size - here)), rank(here - bit));
        if (here + bit < size)
            MPIRIC_TRY(receive(call.team, row + block * uint64_t(bit),
                               block * uint64_t(std::min(bit, size - here - bit)), rank(here + bit)));
    }
    return MPI_SUCCESS;
}

int run(const Call& call) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size;
    return gather_by_tree(call, knomial_reach(here, size, 2),
                          [&](char* row, uint64_t block) { return climb(call, row, block); });
}

constinit const Algorithm algorithm{
    Collective::gather, "binomial", "Thakur et al. 2005", Order::none, nullptr, all_blocks, run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
