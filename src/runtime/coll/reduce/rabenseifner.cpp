// Rabenseifner. A reduce-scatter by recursive halving, then a gather by a binomial tree in which each step
// doubles the blocks. Ranks beyond the largest power of two hand their operand to a neighbour first.
//
// Cost: 2 log₂ p α + 2 (p − 1)/p nβ + (p − 1)/p nγ. Best for middling and long vectors.
// Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004.
#include "coll/allreduce/fold.hpp"
#include "coll/allreduce/stages.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {
namespace {

/// Block r of `data` is on member r, and all of them end on member `root`; for powers of two.
int halving_gather(const Reduction& reduction, const Group& group, int root, char* data,
                   const Blocks& blocks) noexcept {
    for (int bit = 1; bit < group.size; bit *= 2) {
        const auto at = [&](int first) { return reduction.at(data, MPI_Count(blocks.begin(first))); };
        const auto count = [&](int first) {
            return MPI_Count(blocks.begin(first + bit) - blocks.begin(first));
        };
        const int peer = group.rank ^ bit, mine = group.rank & ~(bit - 1), theirs = peer & ~(bit - 1);
        if ((group.rank ^ root) & bit)
            return reduction.send(at(mine), count(mine), group[peer]);
        MPIRIC_TRY(reduction.receive(at(theirs), count(theirs), group[peer]));
    }
    return MPI_SUCCESS;
}

int run(const Call& call) {
    return on_a_copy(call, [&](const Reduction& reduction, char* data) {
        const auto work = [&](const Group& power) {
            const int beyond = call.team.size() - power.size, root = call.root;
            const Blocks blocks = Blocks::even(uint64_t(call.receive_count), power.size);
            MPIRIC_TRY(recursive_halving(reduction, power, data, blocks));
            return halving_gather(reduction, power, root < 2 * beyond ? root / 2 : root - beyond, data,
                                  blocks);
        };
        return folded(reduction, call.team.everyone(), data, call.receive_count, work, call.root);
    });
}

constinit const Algorithm algorithm{Collective::reduce,
                                    "rabenseifner",
                                    "Rabenseifner 2004",
                                    Order::fixed,
                                    can_divide,
                                    [](const Shape& shape) { return 2 * shape.span; },
                                    run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
