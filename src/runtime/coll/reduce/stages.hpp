// Reduce over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/reduction.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

/// Each rank of this node shows its operand in its slot, piece by piece, and reduces the operands of the
/// first `ranks` ranks in their order, if any, into `result`.
int reduce_slots(const Reduction& reduction, const void* input, void* result, MPI_Count count,
                 int ranks) noexcept;
/// Over the ranks of this node, through the board: local rank `root` gets the result.
int shared_reduce(const Reduction& reduction, int root, const void* input, void* result,
                  MPI_Count count) noexcept;
/// The same along the levels of memory. See the file of the same name.
int multilevel_reduce(const Reduction& reduction, int root, const void* input, void* result,
                      MPI_Count count) noexcept;

/// One of those.
using NodeReduce = int (*)(const Reduction& reduction, int root, const void* input, void* result,
                           MPI_Count count) noexcept;

/// All members have their operand in `data`; member `root` ends with the result there, the others with
/// anything. See the files of the same names.
int binomial_reduce(const Reduction& reduction, const Group& group, int root, char* data,
                    MPI_Count count) noexcept;
/// Only where a commutative operation has at least an element for each member.
int rabenseifner_reduce(const Reduction& reduction, const Group& group, int root, char* data,
                        MPI_Count count) noexcept;

/// Runs a stage that wants memory for the whole result on every rank: the receive buffer at the root, scratch
/// memory elsewhere.
template <class Stage> int with_result(const Arguments& call, Stage stage) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const bool root = call.team.rank() == call.root;
    const Elements work{reduction, root ? 0 : call.receive_count};
    MPIRIC_TRY(work.error());
    return stage(reduction, root ? static_cast<char*>(call.receive) : work.data());
}

/// The same for a stage that overwrites its operand, where MPI forbids that: in a copy.
template <class Stage> int on_a_copy(const Arguments& call, Stage stage) {
    return with_result(call, [&](const Reduction& reduction, char* data) -> int {
        MPIRIC_TRY(reduction.copy(input_of(call), data, call.receive_count));
        return stage(reduction, data);
    });
}

/// Runs one of the stages above so, over all ranks.
template <int (*stage)(const Reduction&, const Group&, int, char*, MPI_Count) noexcept>
int on_a_copy_of_all(const Arguments& call) {
    return on_a_copy(call, [&](const Reduction& reduction, char* data) {
        return stage(reduction, call.team.everyone(), call.root, data, call.receive_count);
    });
}

}  // namespace mpiric::coll
