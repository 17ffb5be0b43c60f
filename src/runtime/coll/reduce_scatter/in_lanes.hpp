// Reductions whose work the leaders of each node share: first inside nodes, slice by slice.
#pragma once

#include "coll/allreduce/stages.hpp"
#include "coll/lanes.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {

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
