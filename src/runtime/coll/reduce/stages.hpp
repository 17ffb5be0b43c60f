// Reduce over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/bcast/stages.hpp"
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

// A reduction within nodes, then between them; algorithms differ in how the ranks of a node share memory.

/// One rank of each node (the root for its own) reduces its node's vectors by `within`, then in a tree.
template <NodeReduce within> int reduce_nodes(const Arguments& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const std::vector<int> ranks = speakers(team, call.root);
    const int speaker = ranks[size_t(team.node())];
    const bool speaks = speaker == team.rank(), root = team.rank() == call.root;
    const Elements work{reduction, speaks && !root ? call.receive_count : 0};
    MPIRIC_TRY(work.error());
    char* data = root ? static_cast<char*>(call.receive) : work.data();
    MPIRIC_TRY(within(reduction, team.local_rank(speaker), input_of(call), data, call.receive_count));
    if (!speaks)
        return MPI_SUCCESS;
    const Group group{ranks.data(), int(ranks.size()), team.node()};
    return binomial_reduce(reduction, group, team.node_of(call.root), data, call.receive_count);
}

// A reduction that travels in segments, each rank adding its own to the received ones.

/// Operands of a dense datatype; segments travel to parents. The operation commutes.
inline int reduce_pipeline(const Arguments& call, const Neighbours& by, uint64_t segment_bytes) {
    return on_a_copy(call, [&](const Reduction& reduction, char* data) -> int {
        const Team& team = call.team;
        const uint64_t element = reduction.geometry().size, bytes = reduction.bytes(call.receive_count),
                       segment = std::max<uint64_t>(1, segment_bytes / element) * element,
                       end = (bytes + segment - 1) / segment;
        const auto children = uint64_t(by.children[0] != nobody) + uint64_t(by.children[1] != nobody);
        const Scratch come{children * Coming::ahead * segment};
        if (!come.data())
            return MPI_ERR_NO_MEM;
        const auto size = [&](uint64_t number) { return std::min(segment, bytes - number * segment); };
        const auto place = [&](uint64_t child, uint64_t number) {
            return come.data() + (child * Coming::ahead + number % Coming::ahead) * segment;
        };
        Coming coming[2] = {{0, 1, children > 0 ? end : 0}, {0, 1, children > 1 ? end : 0}};
        const auto post = [&](uint64_t child) {
            return coming[child].post(team, by.children[child], 0, [&](uint64_t number) {
                return std::pair{place(child, number), size(number)};
            });
        };
        Requests sent{size_t(end)};
        MPIRIC_TRY(post(0));
        MPIRIC_TRY(post(1));
        for (uint64_t number = 0; number < end; ++number) {
            char* own = data + number * segment;
            for (uint64_t child = 0; child < children; ++child) {
                MPIRIC_TRY(world::complete({&coming[child].first(), 1}));
                MPIRIC_TRY(reduction.reduce(place(child, number), own, MPI_Count(size(number) / element)));
                coming[child].take();
                MPIRIC_TRY(post(child));
            }
            if (by.parent != nobody)
                MPIRIC_TRY(sent.send(team, own, size(number), by.parent));
        }
        return sent.wait();
    });
}

/// Bytes of scratch memory that on_a_copy() and a pipeline take.
template <uint64_t segment_bytes> uint64_t copy_and_segments(const Workload& workload) noexcept {
    return workload.span + 2 * Coming::ahead * std::max(segment_bytes, workload.span / workload.count);
}

/// Several segments, joined in an order of their own.
template <uint64_t segment_bytes> bool has_segments(const Workload& workload) noexcept {
    return workload.commutative && workload.dense && workload.bytes > segment_bytes;
}

}  // namespace mpiric::coll
