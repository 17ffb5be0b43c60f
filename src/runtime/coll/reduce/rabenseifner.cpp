// Rabenseifner. A reduce-scatter by recursive halving, then a gather by a binomial tree in which each step
// doubles the blocks. Ranks beyond the largest power of two hand their operand to a neighbour first.
//
// Cost: 2 log₂ p α + 2 (p − 1)/p nβ + (p − 1)/p nγ. Best for middling and long vectors.
// Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004.
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
        const int peer = group.rank ^ bit, mine = group.rank & ~(bit - 1), peer_first = peer & ~(bit - 1);
        if ((group.rank ^ root) & bit)
            return reduction.send(at(mine), count(mine), group[peer]);
        MPIRIC_TRY(reduction.receive(at(peer_first), count(peer_first), group[peer]));
    }
    return MPI_SUCCESS;
}

}  // namespace

int rabenseifner_reduce(const Reduction& reduction, const Group& group, int root, char* data,
                        MPI_Count count) noexcept {
    const auto work = [&](const Group& power) {
        const int beyond = group.size - power.size;
        const Blocks blocks = Blocks::even(uint64_t(count), power.size);
        MPIRIC_TRY(recursive_halving(reduction, power, data, blocks));
        return halving_gather(reduction, power, root < 2 * beyond ? root / 2 : root - beyond, data, blocks);
    };
    return folded(reduction, group, data, count, work, root);
}

MPIRIC_ALGORITHMS({Collective::reduce, "rabenseifner", "Rabenseifner 2004", can_divide, two_spans,
                   on_a_copy_of_all<rabenseifner_reduce>})

}  // namespace mpiric::coll
