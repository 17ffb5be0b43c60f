// Recursive doubling. In step k each rank exchanges all it has with the one whose number differs in bit k,
// and both reduce. Ranks beyond the largest power of two p' hand their operand to a neighbour first and get
// the result at the end.
//
// Cost: ⌈log₂ p⌉ (α + nβ + nγ), two messages more for the ranks beyond p'. Best for short vectors.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/allreduce/stages.hpp"

#include <bit>

namespace mpiric::coll {

int recursive_doubling(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept {
    const Elements other{reduction, count};
    MPIRIC_TRY(other.error());
    Operands operands{data, other.data()};
    const int power = int(std::bit_floor(unsigned(group.size))), beyond = group.size - power, me = group.rank;
    // The first 2·beyond members work in pairs, of which the odd one goes on: order is kept.
    if (me < 2 * beyond && me % 2 == 0) {
        MPIRIC_TRY(reduction.send(data, count, group[me + 1]));
        return reduction.receive(data, count, group[me + 1]);
    }
    if (me < 2 * beyond) {
        MPIRIC_TRY(reduction.receive(operands.incoming, count, group[me - 1]));
        MPIRIC_TRY(operands.join_from_left(reduction, count));
    }
    const int here = me < 2 * beyond ? me / 2 : me - beyond;
    for (int bit = 1; bit < power; bit *= 2) {
        const int there = here ^ bit, peer = group[there < beyond ? there * 2 + 1 : there + beyond];
        MPIRIC_TRY(reduction.exchange(operands.partial, count, peer, operands.incoming, count, peer));
        MPIRIC_TRY(there < here ? operands.join_from_left(reduction, count)
                                : operands.join_from_right(reduction, count));
    }
    if (me < 2 * beyond)
        MPIRIC_TRY(reduction.send(operands.partial, count, group[me - 1]));
    return reduction.copy(operands.partial, data, count);
}

namespace {

int run(const Call& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    MPIRIC_TRY(reduction.copy(input_of(call), call.receive, call.receive_count));
    return recursive_doubling(reduction, call.team.everyone(), static_cast<char*>(call.receive),
                              call.receive_count);
}

constinit const Algorithm algorithm{Collective::allreduce,
                                    "recursive_doubling",
                                    "Thakur et al. 2005",
                                    Order::fixed,
                                    nullptr,
                                    [](const Shape& shape) { return shape.span; },
                                    run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
