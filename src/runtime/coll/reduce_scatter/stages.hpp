// Reduce-scatter: stages of the algorithms of this folder and of algorithms that divide a reduction.
#pragma once

#include "coll/blocks.hpp"
#include "coll/reduction.hpp"
#include "coll/suits.hpp"

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

}  // namespace mpiric::coll
