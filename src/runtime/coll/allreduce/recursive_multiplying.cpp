// Recursive multiplying. As recursive doubling, but in groups of k: in each of log_k p rounds a rank sends
// its partial result to the k − 1 others of its group at once and reduces the results that they send. Ranks
// beyond the largest power of k hand their operand to a working rank, and get the result at the end.
//
// Cost: log_k p α + (k − 1) log_k p n (β + γ). Best for short vectors where a rank keeps several messages
// under way. Chilkuri et al.: Generalized Collective Algorithms for the Exascale Era. CLUSTER 2023.
#include "coll/allreduce/stages.hpp"

namespace mpiric::coll {
namespace {

int round(const Reduction& reduction, const Group& group, int radix, int step, char* data, char* others,
          MPI_Count count) {
    const Team& team = reduction.team();
    const int digit = group.rank / step % radix;
    Requests under_way{size_t(2 * radix)};
    auto slot = [&](int at) { return reduction.at(others, count * (at - (at > digit))); };
    for (int at = 0; at < radix; ++at)
        if (at != digit) {
            const int peer = group[group.rank + (at - digit) * step];
            MPIRIC_TRY(under_way.receive(team, slot(at), count, reduction.type(), peer));
            MPIRIC_TRY(under_way.send(team, data, count, reduction.type(), peer));
        }
    MPIRIC_TRY(under_way.wait());
    // Digits fall from right to left, so that all ranks of a group reduce in the order of ranks.
    const Elements sum{reduction, count};
    MPIRIC_TRY(sum.error());
    auto operand = [&](int at) { return at == digit ? data : slot(at); };
    MPIRIC_TRY(reduction.copy(operand(radix - 1), sum.data(), count));
    for (int at = radix - 2; at >= 0; --at)
        MPIRIC_TRY(reduction.reduce(operand(at), sum.data(), count));
    return reduction.copy(sum.data(), data, count);
}

int largest_power(int radix, int members) noexcept {
    int power = 1;
    while (power * radix <= members)
        power *= radix;
    return power;
}

}  // namespace

template <int radix>
int recursive_multiplying(const Reduction& reduction, const Group& group, char* data,
                          MPI_Count count) noexcept {
    const Elements others{reduction, count * (radix - 1)};
    MPIRIC_TRY(others.error());
    const int size = group.size, me = group.rank, power = largest_power(radix, size);
    if (me >= power) {
        MPIRIC_TRY(reduction.send(data, count, group[me % power]));
        return reduction.receive(data, count, group[me % power]);
    }
    for (int beyond = me + power; beyond < size; beyond += power) {
        MPIRIC_TRY(reduction.receive(others.data(), count, group[beyond]));
        MPIRIC_TRY(reduction.reduce(others.data(), data, count));
    }
    for (int step = 1; step < power; step *= radix)
        MPIRIC_TRY(round(reduction, group, radix, step, data, others.data(), count));
    for (int beyond = me + power; beyond < size; beyond += power)
        MPIRIC_TRY(reduction.send(data, count, group[beyond]));
    return MPI_SUCCESS;
}

template int recursive_multiplying<3>(const Reduction&, const Group&, char*, MPI_Count) noexcept;
template int recursive_multiplying<4>(const Reduction&, const Group&, char*, MPI_Count) noexcept;
template int recursive_multiplying<8>(const Reduction&, const Group&, char*, MPI_Count) noexcept;

bool multiplies(int radix, int members, bool commutative) noexcept {
    const int power = largest_power(radix, members);
    return power > 1 && (commutative || power == members);
}

namespace allreduce_recursive_multiplying {

template <int radix> bool suits(const Workload& workload) {
    return multiplies(radix, workload.layout.size, workload.commutative);
}

MPIRIC_ALGORITHMS({Collective::allreduce, "recursive_multiplying_3", "Chilkuri et al. 2023", suits<3>,
                   several_spans<3>, in_place_of_all<recursive_multiplying<3>>},
                  {Collective::allreduce, "recursive_multiplying_4", "Chilkuri et al. 2023", suits<4>,
                   several_spans<4>, in_place_of_all<recursive_multiplying<4>>},
                  {Collective::allreduce, "recursive_multiplying_8", "Chilkuri et al. 2023", suits<8>,
                   several_spans<8>, in_place_of_all<recursive_multiplying<8>>})

}  // namespace allreduce_recursive_multiplying
}  // namespace mpiric::coll
