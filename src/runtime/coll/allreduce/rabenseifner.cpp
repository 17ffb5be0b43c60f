// Rabenseifner. A reduce-scatter by recursive halving, then an allgather by recursive doubling. Ranks beyond
// the largest power of two hand their operand to a neighbour first and get the result at the end.
//
// Cost: 2 log₂ p α + 2 (p − 1)/p nβ + (p − 1)/p nγ. Best for middling and long vectors.
// Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004.
#include "coll/allreduce/fold.hpp"
#include "coll/allreduce/stages.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {
namespace {

/// Block r of `data`, in bytes, comes from member r; for powers of two.
int doubling_allgather(const Team& team, const Group& group, char* data, const Blocks& blocks) noexcept {
    for (int bit = 1; bit < group.size; bit *= 2) {
        const int peer = group.rank ^ bit, mine = group.rank & ~(bit - 1), theirs = peer & ~(bit - 1);
        MPIRIC_TRY(exchange(team, data + blocks.begin(mine), blocks.begin(mine + bit) - blocks.begin(mine),
                            group[peer], data + blocks.begin(theirs),
                            blocks.begin(theirs + bit) - blocks.begin(theirs), group[peer]));
    }
    return MPI_SUCCESS;
}

}  // namespace

int rabenseifner(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    return folded(reduction, group, data, count, [&](const Group& power) {
        const Blocks blocks = Blocks::even(uint64_t(count), power.size);
        MPIRIC_TRY(recursive_halving(reduction, power, data, blocks));
        return doubling_allgather(reduction.team(), power, data, blocks.times(reduction.geometry().size));
    });
}

namespace {

constinit const Algorithm algorithm{
    Collective::allreduce,        "rabenseifner", "Rabenseifner 2004", Order::fixed, can_divide, whole_span,
    in_place_of_all<rabenseifner>};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
