// Dissemination. In step k each rank tells the one 2^k further that it has come, and hears from the one 2^k
// before.
//
// Cost: ⌈log₂ p⌉ α, for any p.
// Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization. IJPP 17(1), 1988.
#include "coll/barrier/stages.hpp"

namespace mpiric::coll {

int dissemination(const Team& team, const Group& group) noexcept {
    char nothing[2] = {};
    for (int step = 1; step < group.size; step *= 2)
        MPIRIC_TRY(exchange(team, nothing, 0, group[(group.rank + step) % group.size], nothing + 1, 0,
                            group[(group.rank + group.size - step) % group.size]));
    return MPI_SUCCESS;
}

namespace {

int run(const Call& call) { return dissemination(call.team, call.team.everyone()); }

constinit const Algorithm algorithm{
    Collective::barrier, "dissemination", "Hensgen et al. 1988", Order::none, nullptr, nullptr, run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
