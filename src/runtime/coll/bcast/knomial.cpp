// k-nomial tree. As the binomial tree, but each rank that has the message sends it to k − 1 others in each of
// ⌈log_k p⌉ rounds, all of them under way at once.
//
// Cost: ⌈log_k p⌉ α + (k − 1)⌈log_k p⌉ nβ. Best for short messages where a sender keeps several messages
// under way. Chilkuri et al.: Generalized Collective Algorithms for the Exascale Era. CLUSTER 2023.
#include "coll/knomial.hpp"
#include "coll/bcast/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

template <int radix> int knomial(const Message& message, const Group& group, int root) noexcept {
    const Knomial tree{group, root, radix};
    if (tree.relative_rank)
        MPIRIC_TRY(message.receive(tree.rank(tree.parent())));
    Requests children{64};
    for (int step = tree.reach / radix; step > 0; step /= radix)
        for (int child = tree.relative_rank + step; child < tree.end_of_children(step); child += step)
            MPIRIC_TRY(
                children.send(message.team, message.at, message.count, message.type, tree.rank(child)));
    return children.wait();
}

template int knomial<4>(const Message&, const Group&, int) noexcept;
template int knomial<8>(const Message&, const Group&, int) noexcept;

MPIRIC_ALGORITHMS({Collective::bcast, "knomial_4", "Chilkuri et al. 2023", on_more_than<2>, nullptr,
                   bcast_by<knomial<4>>},
                  {Collective::bcast, "knomial_8", "Chilkuri et al. 2023", on_more_than<4>, nullptr,
                   bcast_by<knomial<8>>})

}  // namespace mpiric::coll
