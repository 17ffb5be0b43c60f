// An allreduce within nodes, between them, within again; algorithms differ in how the ranks of a node share
// memory.
#pragma once

#include "coll/allreduce/stages.hpp"
#include "coll/bcast/stages.hpp"
#include "coll/board.hpp"
#include "coll/reduce/stages.hpp"

namespace mpiric::coll {

/// An allreduce of the leaders of all nodes, in place.
using BetweenNodes = int (*)(const Reduction&, const Group&, char*, MPI_Count) noexcept;

/// Whether leaders can reduce by recursive multiplying where the whole `suits`.
template <bool (*suits)(const Workload&), int radix> bool suits_radix(const Workload& workload) {
    return suits(workload) && multiplies(radix, workload.layout.nodes, workload.commutative);
}

/// The leader of each node reduces its ranks' vectors, the leaders reduce among themselves, and each shows
/// the result to its node.
template <NodeReduce up, BetweenNodes between, NodeBcast down> int allreduce_nodes(const Arguments& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const bool leads = team.local().rank == 0;
    MPIRIC_TRY(up(reduction, 0, input_of(call), call.receive, call.receive_count));
    const uint64_t steps_up = team.board().steps();
    if (leads && team.leaders().size > 1)
        MPIRIC_TRY(between(reduction, team.leaders(), static_cast<char*>(call.receive), call.receive_count));
    Target result{team, call.receive, call.receive_count, call.receive_type};
    MPIRIC_TRY(result.error());
    if (leads)
        MPIRIC_TRY(result.load());
    if (team.local().size > 1)
        MPIRIC_TRY(down(team, 0, result.data(), result.bytes()));
    // All operands were in the result: every rank of the node had come to the last step on the way up.
    team.board().know_finished(steps_up - 1);
    return leads ? MPI_SUCCESS : result.store();
}

}  // namespace mpiric::coll
