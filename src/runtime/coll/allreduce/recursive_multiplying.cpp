// Recursive multiplying. As recursive doubling, but in groups of k: in each of log_k p rounds a rank sends
// all it has to the k − 1 others of its group at once and reduces what they send. Ranks beyond the largest
// power of k hand their operand to one that works, and get the result at the end.
//
// Cost: log_k p α + (k − 1) log_k p n (β + γ). Best for short vectors where a rank keeps several messages
// under way. Chilkuri et al.: Generalized Collective Algorithms for the Exascale Era. CLUSTER 2023.
#include "coll/allreduce/stages.hpp"

namespace mpiric::coll {
namespace {

template <int radix>
int round(const Reduction& reduction, int me, int step, char* data, char* others, MPI_Count count) {
    const Team& team = reduction.team();
    const int digit = me / step % radix;
    Requests under_way{size_t(2 * radix)};
    auto slot = [&](int at) { return reduction.at(others, count * (at - (at > digit))); };
    for (int at = 0; at < radix; ++at)
        if (at != digit) {
            const int peer = me + (at - digit) * step;
            MPIRIC_TRY(under_way.receive(team, slot(at), count, reduction.type(), peer));
            MPIRIC_TRY(under_way.send(team, data, count, reduction.type(), peer));
        }
    MPIRIC_TRY(under_way.wait());
    // Digits fall from right to left, so that all ranks of a group reduce in one order, that of ranks.
    const Elements sum{reduction, count};
    MPIRIC_TRY(sum.error());
    auto operand = [&](int at) { return at == digit ? data : slot(at); };
    MPIRIC_TRY(reduction.copy(operand(radix - 1), sum.data(), count));
    for (int at = radix - 2; at >= 0; --at)
        MPIRIC_TRY(reduction.reduce(operand(at), sum.data(), count));
    return reduction.copy(sum.data(), data, count);
}

template <int radix> int run(const Call& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const MPI_Count count = call.receive_count;
    char* data = static_cast<char*>(call.receive);
    MPIRIC_TRY(reduction.copy(input_of(call), data, count));
    const Elements others{reduction, count * (radix - 1)};
    MPIRIC_TRY(others.error());
    const int size = call.team.size(), me = call.team.rank();
    int power = 1;
    while (power * radix <= size)
        power *= radix;
    if (me >= power) {
        MPIRIC_TRY(reduction.send(data, count, me % power));
        return reduction.receive(data, count, me % power);
    }
    for (int beyond = me + power; beyond < size; beyond += power) {
        MPIRIC_TRY(reduction.receive(others.data(), count, beyond));
        MPIRIC_TRY(reduction.reduce(others.data(), data, count));
    }
    for (int step = 1; step < power; step *= radix)
        MPIRIC_TRY(round<radix>(reduction, me, step, data, others.data(), count));
    for (int beyond = me + power; beyond < size; beyond += power)
        MPIRIC_TRY(reduction.send(data, count, beyond));
    return MPI_SUCCESS;
}

template <int radix> bool suits(const Shape& shape) {
    int power = 1;
    while (power * radix <= shape.layout.size)
        power *= radix;
    return power > 1 && (shape.commutative || power == shape.layout.size);
}

template <int radix> uint64_t scratch(const Shape& shape) { return shape.span * (radix + 1); }

constinit const Algorithm three{Collective::allreduce,
                                "recursive_multiplying_3",
                                "Chilkuri et al. 2023",
                                Order::fixed,
                                suits<3>,
                                scratch<3>,
                                run<3>};
constinit const Algorithm four{Collective::allreduce,
                               "recursive_multiplying_4",
                               "Chilkuri et al. 2023",
                               Order::fixed,
                               suits<4>,
                               scratch<4>,
                               run<4>};
constinit const Algorithm eight{Collective::allreduce,
                                "recursive_multiplying_8",
                                "Chilkuri et al. 2023",
                                Order::fixed,
                                suits<8>,
                                scratch<8>,
                                run<8>};
MPIRIC_ALGORITHM(three)
MPIRIC_ALGORITHM(four)
MPIRIC_ALGORITHM(eight)

}  // namespace
}  // namespace mpiric::coll
