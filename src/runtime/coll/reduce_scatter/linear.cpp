// Linear. Each rank sends every other the block it reduces, all at once, and reduces in rank order.
//
// Cost: α + (p − 1)/p n (β + γ), for any p: one latency, for p − 1 messages under way on each rank. Best for
// short vectors where latency is long. Iannello: Efficient Algorithms for the Reduce-Scatter Operation in
// LogGP. IEEE TPDS 8(9), 1997.
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {

int linear_reduce_scatter(const Reduction& reduction, const Group& group, char* data,
                          const Blocks& blocks) noexcept {
    const Team& team = reduction.team();
    const int size = group.size, me = group.rank;
    const MPI_Count own = MPI_Count(blocks.size(me));
    const Elements others{reduction, own * (size - 1)}, sum{reduction, own};
    MPIRIC_TRY(others.error());
    MPIRIC_TRY(sum.error());
    auto block = [&](int member) { return reduction.at(data, MPI_Count(blocks.begin(member))); };
    auto slot = [&](int member) { return reduction.at(others.data(), own * (member - (member > me))); };
    Requests under_way{size_t(2 * size)};
    for (int step = 1; step < size; ++step) {
        const int from = (me + size - step) % size, to = (me + step) % size;
        if (own)
            MPIRIC_TRY(under_way.receive(team, slot(from), own, reduction.type(), group[from]));
        if (const MPI_Count count = MPI_Count(blocks.size(to)))
            MPIRIC_TRY(under_way.send(team, block(to), count, reduction.type(), group[to]));
    }
    MPIRIC_TRY(under_way.wait());
    auto operand = [&](int member) { return member == me ? block(me) : slot(member); };
    MPIRIC_TRY(reduction.copy(operand(size - 1), sum.data(), own));
    for (int member = size - 2; member >= 0; --member)
        MPIRIC_TRY(reduction.reduce(operand(member), sum.data(), own));
    return reduction.copy(sum.data(), block(me), own);
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::reduce_scatter,
                          {Collective::reduce_scatter_block, "linear", "Iannello 1997", nullptr,
                           copy_and_all_blocks, with_copy_of_all<linear_reduce_scatter>})

}  // namespace mpiric::coll
