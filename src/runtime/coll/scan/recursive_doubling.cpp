// Recursive doubling. In step k each rank sends the reduction of its last 2^k operands to the one 2^k
// further, and puts what comes from the one 2^k before to the left of its own.
//
// Cost: ⌈log₂ p⌉ (α + nβ + 2nγ), for any p. Best for short vectors.
// Hillis, Steele: Data Parallel Algorithms. CACM 29(12), 1986.
#include "coll/reduction.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::scan_recursive_doubling {

/// `result` of an exscan takes only what comes from others.
template <bool inclusive> int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const MPI_Count count = call.receive_count;
    const int size = call.team.size(), me = call.team.rank();
    const Elements partial{reduction, count}, incoming{reduction, count};
    MPIRIC_TRY(partial.error());
    MPIRIC_TRY(incoming.error());
    MPIRIC_TRY(reduction.copy(input_of(call), partial.data(), count));
    bool begun = inclusive;
    if (inclusive)
        MPIRIC_TRY(reduction.copy(input_of(call), call.receive, count));
    for (int step = 1; step < size; step *= 2) {
        const int from = me >= step ? me - step : nobody, to = me + step < size ? me + step : nobody;
        MPIRIC_TRY(reduction.exchange(partial.data(), count, to, incoming.data(), count, from));
        if (from == nobody)
            continue;
        MPIRIC_TRY(begun ? reduction.reduce(incoming.data(), call.receive, count)
                         : reduction.copy(incoming.data(), call.receive, count));
        begun = true;
        MPIRIC_TRY(reduction.reduce(incoming.data(), partial.data(), count));
    }
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS({Collective::scan, "recursive_doubling", "Hillis, Steele 1986", nullptr, two_spans,
                   run<true>},
                  {Collective::exscan, "recursive_doubling", "Hillis, Steele 1986", nullptr, two_spans,
                   run<false>})

}  // namespace mpiric::coll::scan_recursive_doubling
