// Allreduce over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/bcast/stages.hpp"
#include "coll/board.hpp"
#include "coll/reduce/stages.hpp"
#include "coll/reduction.hpp"
#include "coll/suits.hpp"
#include <bit>
#include <vector>

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

// Ranks beyond the largest power of two stand aside while the others work.

inline constexpr int everyone = -1;

/// Of the first 2·(p − p') members, the even ones hand their operand to their right neighbour, which works
/// for both in a group of p', a power of two; afterwards the members that want it get the result.
template <class Work>
int folded(const Reduction& reduction, const Group& group, char* data, MPI_Count count, Work work,
           int wanted_by = everyone) noexcept {
    const int power = int(std::bit_floor(unsigned(group.size))), beyond = group.size - power, me = group.rank;
    if (beyond == 0)
        return work(group);
    const bool paired = me < 2 * beyond;
    const auto wants = [&](int member) { return wanted_by == everyone || wanted_by == member; };
    if (paired && me % 2 == 0) {
        MPIRIC_TRY(reduction.send(data, count, group[me + 1]));
        if (wants(me))
            return reduction.receive(data, count, group[me + 1]);
        return MPI_SUCCESS;
    }
    if (paired) {
        const Elements other{reduction, count};
        MPIRIC_TRY(other.error());
        MPIRIC_TRY(reduction.receive(other.data(), count, group[me - 1]));
        MPIRIC_TRY(reduction.reduce(other.data(), data, count));
    }
    std::vector<int> ranks(static_cast<size_t>(power));
    for (int member = 0; member < power; ++member)
        ranks[size_t(member)] = group[member < beyond ? 2 * member + 1 : member + beyond];
    MPIRIC_TRY(work(Group{ranks.data(), power, paired ? me / 2 : me - beyond}));
    if (paired && wants(me - 1))
        return reduction.send(data, count, group[me - 1]);
    return MPI_SUCCESS;
}

// An allreduce within nodes, between them, within again; algorithms differ in how a node shares memory.

/// An allreduce of the leaders of all nodes, in place.
using BetweenNodes = int (*)(const Reduction&, const Group&, char*, MPI_Count) noexcept;

/// Whether leaders can reduce by recursive multiplying where the whole `suits`.
template <bool (*suits)(const Workload&), int radix> bool suits_radix(const Workload& workload) {
    return suits(workload) && multiplies(radix, workload.layout.nodes, workload.commutative);
}

/// The leader of each node reduces its ranks' vectors, the leaders reduce theirs, and each shows the result.
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
