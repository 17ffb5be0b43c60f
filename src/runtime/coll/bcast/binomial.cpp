// Binomial tree. In step k the ranks that have the message, counted from the root, send it on to the one 2^k
// further.
//
// Cost: ⌈log₂ p⌉ (α + nβ). Best for short messages, and what longer ones are compared with.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/bcast/stages.hpp"

namespace mpiric::coll {

int binomial(const Message& message, const Group& group, int root) noexcept {
    const int relative_rank = (group.rank - root + group.size) % group.size;
    auto member = [&](int relative) { return group[(relative + root) % group.size]; };
    int bit = 1;
    for (; bit < group.size; bit *= 2)
        if (relative_rank & bit) {
            MPIRIC_TRY(message.receive(member(relative_rank - bit)));
            break;
        }
    for (bit /= 2; bit > 0; bit /= 2)
        if (relative_rank + bit < group.size)
            MPIRIC_TRY(message.send(member(relative_rank + bit)));
    return MPI_SUCCESS;
}

namespace bcast_binomial {

int run(const Call& call) {
    return binomial({call.team, call.receive, call.receive_count, call.receive_type}, call.team.everyone(),
                    call.root);
}

constinit const Algorithm registered[] = {
    {Collective::bcast, "binomial", "Thakur et al. 2005", Order::none, nullptr, nullptr, run},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace bcast_binomial
}  // namespace mpiric::coll
