// Scatter, then allgather. The root's message is halved down a binomial tree until each rank has its block; a
// ring then gives every block to all, or recursive doubling where the ranks are a power of two.
//
// Cost: (⌈log₂ p⌉ + p − 1) α + 2 (p − 1)/p nβ around a ring, 2 log₂ p α + 2 (p − 1)/p nβ by doubling. Best
// for long messages. Barnett et al.: Interprocessor Collective Communication Library. SHPCC 1994; Thakur,
// Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 2005.
#include "coll/bcast/stages.hpp"

#include "coll/allgather/stages.hpp"
#include "coll/knomial.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {
namespace {

using Allgather = int (*)(const Team& team, const Group& group, char* data, const Blocks& blocks) noexcept;

template <Allgather allgather>
int scatter_and(const Team& team, const Group& group, int root, char* data, uint64_t bytes) {
    const Knomial tree{group, root, 2};
    const int size = tree.size, me = tree.relative_rank;
    // Blocks in the order counted from the root: the blocks of a subtree are consecutive.
    const Blocks blocks = Blocks::even(bytes, size);
    auto until = [&](int relative) { return blocks.begin(std::min(relative, size)); };
    if (me)
        MPIRIC_TRY(
            receive(team, data + until(me), until(me + tree.reach) - until(me), tree.rank(tree.parent())));
    for (int step = tree.reach / 2; step > 0; step /= 2)
        if (const int child = me + step; child < size)
            MPIRIC_TRY(send(team, data + until(child), until(child + step) - until(child), tree.rank(child)));
    std::vector<int> from_root(static_cast<size_t>(size));
    for (int relative = 0; relative < size; ++relative)
        from_root[size_t(relative)] = tree.rank(relative);
    return allgather(team, {from_root.data(), size, me}, data, blocks);
}

}  // namespace

int scatter_allgather(const Team& team, const Group& group, int root, char* data, uint64_t bytes) noexcept {
    return scatter_and<ring_allgather>(team, group, root, data, bytes);
}

int scatter_recursive_doubling(const Team& team, const Group& group, int root, char* data,
                               uint64_t bytes) noexcept {
    return scatter_and<recursive_doubling_allgather>(team, group, root, data, bytes);
}

namespace bcast_scatter_allgather {

template <auto stage> int run(const Arguments& call) {
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        return stage(call.team, call.team.everyone(), call.root, data, bytes);
    });
}

bool suits(const Workload& workload) {
    return workload.layout.size > 2 && workload.bytes >= uint64_t(workload.layout.size);
}

bool suits_doubling(const Workload& workload) { return suits(workload) && is_power(workload.layout.size); }

MPIRIC_ALGORITHMS({Collective::bcast, "scatter_allgather", "Barnett et al. 1994", suits, packed_bytes,
                   run<scatter_allgather>},
                  {Collective::bcast, "scatter_recursive_doubling", "Thakur et al. 2005", suits_doubling,
                   packed_bytes, run<scatter_recursive_doubling>})

}  // namespace bcast_scatter_allgather
}  // namespace mpiric::coll
