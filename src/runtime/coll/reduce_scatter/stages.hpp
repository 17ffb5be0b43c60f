// Reduce-scatter: stages of the algorithms of this folder and of algorithms that divide a reduction.
#pragma once

#include "coll/allreduce/stages.hpp"
#include "coll/bine.hpp"
#include "coll/blocks.hpp"
#include "coll/lanes.hpp"
#include "coll/reduction.hpp"
#include "coll/suits.hpp"
#include <bit>
#include <vector>

namespace mpiric::coll {

/// Over the ranks of this node, through the board: slice r of `result` becomes the reduction of everybody's
/// slice r on local rank r. Slices in elements of a dense datatype; the input may be the result.
int shared_reduce_scatter(const Reduction& reduction, const void* input, void* result,
                          const Blocks& slices) noexcept;

/// Over a group: block r of `data` becomes the reduction of everybody's on member r; the rest is overwritten.
/// Blocks in elements, the operation commutative. See the files of the same names.
int ring_reduce_scatter(const Reduction& reduction, const Group& group, char* data,
                        const Blocks& blocks) noexcept;
int swing_reduce_scatter(const Reduction& reduction, const Group& group, char* data,
                         const Blocks& blocks) noexcept;
/// Any operation.
int linear_reduce_scatter(const Reduction& reduction, const Group& group, char* data,
                          const Blocks& blocks) noexcept;
/// For powers of two.
int recursive_halving(const Reduction& reduction, const Group& group, char* data,
                      const Blocks& blocks) noexcept;

/// One of those, which a larger algorithm runs between the nodes.
using Between = int (*)(const Reduction&, const Group&, char*, const Blocks&) noexcept;

/// The blocks of a reduce_scatter or reduce_scatter_block, in elements.
inline Blocks blocks_of(const Arguments& call) {
    return call.receive_counts ? Blocks::of(call.receive_counts, call.team.size(), 1)
                               : Blocks::equal(uint64_t(call.receive_count));
}

/// Runs a stage on a copy of the input, and puts this rank's block where MPI wants it.
template <class Stage> int with_copy(const Arguments& call, Stage stage) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Blocks blocks = blocks_of(call);
    const int me = call.team.rank();
    const MPI_Count whole = MPI_Count(blocks.begin(call.team.size()));
    const Elements work{reduction, whole};
    MPIRIC_TRY(work.error());
    MPIRIC_TRY(reduction.copy(input_of(call), work.data(), whole));
    MPIRIC_TRY(stage(reduction, work.data(), blocks));
    return reduction.copy(reduction.at(work.data(), MPI_Count(blocks.begin(me))), call.receive,
                          MPI_Count(blocks.size(me)));
}

/// Runs a stage of all ranks so.
template <Between stage> int with_copy_of_all(const Arguments& call) {
    return with_copy(call, [&](const Reduction& reduction, char* data, const Blocks& blocks) {
        return stage(reduction, call.team.everyone(), data, blocks);
    });
}

/// Bytes of scratch that with_copy and a stage take. Blocks of reduce_scatter may all be one rank's.
inline uint64_t copy_and_more(const Workload& workload) noexcept {
    return workload.span *
           (workload.collective == Collective::reduce_scatter_block ? uint64_t(workload.layout.size) : 1) * 2;
}

/// The same for a stage that takes all members' blocks at once; they may all be this rank's.
inline uint64_t copy_and_all_blocks(const Workload& workload) noexcept {
    return workload.collective == Collective::reduce_scatter_block
               ? copy_and_more(workload)
               : workload.span * uint64_t(workload.layout.size + 1);
}

// Who meets whom in Swing, and which blocks they then exchange.

class Swing : public Bine {
  public:
    using Bine::Bine;

    /// The blocks that a rank still gathers from `step` on: its own and the blocks of ranks that it has yet
    /// to meet, ascending.
    std::vector<int> from(int rank, int step) const;
};

// Reductions whose work the leaders of each node share: first inside nodes, slice by slice.

/// Reduces the vectors of this node in shared memory, a slice for each leader, which takes it on by
/// `between(group, slice, count)` with the leaders of its lane. The input may be the result.
template <class Between>
int reduce_in_lanes(const Arguments& call, const Reduction& reduction, const Lanes& lanes,
                    const Blocks& slices, void* result, Between&& between) {
    MPIRIC_TRY(shared_reduce_scatter(reduction, input_of(call), result, slices));
    if (!lanes.leads())
        return MPI_SUCCESS;
    const int me = call.team.local().rank;
    return between(lanes.group(), reduction.at(result, MPI_Count(slices.begin(me))),
                   MPI_Count(slices.size(me)));
}

template <int leaders> bool suits_in_lanes(const Workload& workload) {
    return has_leaders<leaders>(workload) && can_divide(workload) && elements_fit(workload);
}

}  // namespace mpiric::coll
