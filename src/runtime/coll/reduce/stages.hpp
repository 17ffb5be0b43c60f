// Reduce over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/reduction.hpp"

namespace mpiric::coll {

/// Over the ranks of this node, through the board: local rank `root` gets the result.
int shared_reduce(const Reduction& reduction, int root, const void* input, void* result,
                  MPI_Count count) noexcept;

/// All members have their operand in `data`; member `root` ends with the result there, the others with
/// anything. See the file of the same name.
int binomial_reduce(const Reduction& reduction, const Group& group, int root, char* data,
                    MPI_Count count) noexcept;

/// Runs a stage that overwrites its operand, where MPI forbids that: in the receive buffer at the root, in a
/// copy elsewhere.
template <class Stage> int on_a_copy(const Call& call, Stage stage) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const bool root = call.team.rank() == call.root;
    const Elements work{reduction, root ? 0 : call.receive_count};
    MPIRIC_TRY(work.error());
    char* data = root ? static_cast<char*>(call.receive) : work.data();
    MPIRIC_TRY(reduction.copy(input_of(call), data, call.receive_count));
    return stage(reduction, data);
}

}  // namespace mpiric::coll
