// Recursive multiplying, backwards. As recursive halving, but in groups of up to k: p is a product of
// factors, and in the round of factor f a rank sends each of f − 1 others their part of the vector that it
// still reduces, and reduces the received parts for its own. For p with factors up to k only.
//
// Cost: α a factor, at best log_k p α, and (p − 1)/p n (β + γ). Best for middling vectors where a rank keeps
// several messages under way. Commutative operations only. Chilkuri et al.: Generalized Collective Algorithms
// for the Exascale Era. CLUSTER 2023.
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::reduce_scatter_recursive_multiplying {

/// Reduces the vector of this rank, the blocks of `low` … `low` + `members` − 1, to one of `factor` parts.
int round(const Reduction& reduction, const Group& group, char* data, const Blocks& blocks, int low,
          int members, int factor) {
    const int part = members / factor, digit = (group.rank - low) / part;
    auto at = [&](int which) { return reduction.at(data, MPI_Count(blocks.begin(low + which * part))); };
    auto count = [&](int which) {
        return MPI_Count(blocks.begin(low + (which + 1) * part) - blocks.begin(low + which * part));
    };
    const MPI_Count own = count(digit);
    const Elements come{reduction, own * (factor - 1)};
    MPIRIC_TRY(come.error());
    auto slot = [&](int step) { return reduction.at(come.data(), own * (step - 1)); };
    Requests under_way{size_t(2 * factor)};
    for (int step = 1; step < factor; ++step) {
        const int from = (digit + factor - step) % factor, to = (digit + step) % factor;
        MPIRIC_TRY(under_way.receive(reduction.team(), slot(step), own, reduction.type(),
                                     group[group.rank + (from - digit) * part]));
        MPIRIC_TRY(under_way.send(reduction.team(), at(to), count(to), reduction.type(),
                                  group[group.rank + (to - digit) * part]));
    }
    MPIRIC_TRY(under_way.wait());
    for (int step = 1; step < factor; ++step)
        MPIRIC_TRY(reduction.reduce(slot(step), at(digit), own));
    return MPI_SUCCESS;
}

template <int radix> int run(const Arguments& call) {
    return with_copy(call, [&](const Reduction& reduction, char* data, const Blocks& blocks) -> int {
        const Group& group = call.team.everyone();
        for (int members = group.size, factor; members > 1; members /= factor) {
            factor = largest_factor(members, radix);
            MPIRIC_TRY(
                round(reduction, group, data, blocks, group.rank - group.rank % members, members, factor));
        }
        return MPI_SUCCESS;
    });
}

template <int radix> bool suits(const Workload& workload) {
    return workload.commutative && multiplies_out(workload.layout.size, radix, radix / 2);
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter,
                          {Collective::reduce_scatter_block, "recursive_multiplying_4",
                           "Chilkuri et al. 2023", suits<4>, copy_and_all_blocks, run<4>},
                          {Collective::reduce_scatter_block, "recursive_multiplying_8",
                           "Chilkuri et al. 2023", suits<8>, copy_and_all_blocks, run<8>})

}  // namespace mpiric::coll::reduce_scatter_recursive_multiplying
