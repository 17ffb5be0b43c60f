// Allreduce over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/reduction.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

/// All members have their operand in `data` and end with the result there. See the files of the same names.
int recursive_doubling(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept;
/// Only where can_divide().
int rabenseifner(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept;
int ring(const Reduction& reduction, const Group& group, char* data, MPI_Count count) noexcept;
/// For radix 3, 4 and 8, only where multiplies().
template <int radix>
int recursive_multiplying(const Reduction& reduction, const Group& group, char* data,
                          MPI_Count count) noexcept;
bool multiplies(int radix, int members, bool commutative) noexcept;
/// Bytes of scratch memory that it takes with the copy of an operand.
template <int radix> uint64_t several_spans(const Workload& workload) noexcept {
    return workload.span * (radix + 1);
}

/// Vectors that can be cut into a block for each rank, reduced in an order of its own.
inline bool can_divide(const Workload& workload) noexcept {
    return workload.commutative && workload.dense && workload.count >= uint64_t(workload.layout.size);
}

/// Runs a stage over all ranks, in the receive buffer.
template <int (*stage)(const Reduction&, const Group&, char*, MPI_Count) noexcept>
int in_place_of_all(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    MPIRIC_TRY(reduction.copy(input_of(call), call.receive, call.receive_count));
    return stage(reduction, call.team.everyone(), static_cast<char*>(call.receive), call.receive_count);
}

}  // namespace mpiric::coll
