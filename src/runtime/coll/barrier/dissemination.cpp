// Dissemination. In step s each rank tells those k^s, 2k^s, … (k − 1)k^s further that it has come.
//
// Cost: ⌈log_k p⌉ α, for any p, with k − 1 messages under way on each rank.
// Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization. IJPP 17(1), 1988; Hoefler et al.: Fast
// Barrier Synchronization for InfiniBand. IPDPS 2006 (several messages at once).
#include "coll/barrier/stages.hpp"
#include "coll/suits.hpp"

#include <algorithm>

namespace mpiric::coll {

int dissemination(const Team& team, const Group& group, int radix) {
    char nothing[2] = {};
    for (int step = 1; step < group.size; step *= radix) {
        Requests round{size_t(2 * radix)};
        for (int far = step; far < std::min(step * radix, group.size); far += step) {
            MPIRIC_TRY(round.receive(team, nothing + 1, uint64_t(0),
                                     group[(group.rank + group.size - far) % group.size]));
            MPIRIC_TRY(round.send(team, nothing, uint64_t(0), group[(group.rank + far) % group.size]));
        }
        MPIRIC_TRY(round.wait());
    }
    return MPI_SUCCESS;
}

namespace barrier_dissemination {

template <int radix> int run(const Arguments& call) {
    return dissemination(call.team, call.team.everyone(), radix);
}

MPIRIC_ALGORITHMS({Collective::barrier, "dissemination", "Hensgen et al. 1988", nullptr, nullptr, run<2>},
                  {Collective::barrier, "dissemination_4", "Hoefler et al. 2006", on_more_than<2>, nullptr,
                   run<4>},
                  {Collective::barrier, "dissemination_8", "Hoefler et al. 2006", on_more_than<4>, nullptr,
                   run<8>})

}  // namespace barrier_dissemination
}  // namespace mpiric::coll
