// Workload of a call, from its arguments.
#pragma once

#include "coll/algorithm.hpp"
#include "coll/datatype.hpp"

namespace mpiric::coll {

inline MPI_Count total(const Counts& counts, int ranks) noexcept {
    MPI_Count sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
        sum += counts[rank];
    return sum;
}

/// Adds what only reductions have.
inline void describe_reduction(Workload& workload, MPI_Count count, MPI_Count whole,
                               const Arguments& call) noexcept {
    const Geometry type = geometry_of(call.receive_type);
    int commutes = 0;
    workload.commutative = world::library.Op_commutative(call.op, &commutes) == MPI_SUCCESS && commutes;
    workload.dense = type.dense();
    workload.count = uint64_t(count);
    workload.bytes = uint64_t(whole) * type.size;
    workload.span = span_of(type, count);
}

inline uint64_t bytes_of(MPI_Count count, MPI_Datatype type) noexcept {
    return uint64_t(count) * world::size_of(type);
}

inline Workload workload_of(Collective collective, const Arguments& call) noexcept {
    Workload workload;
    workload.collective = collective;
    workload.layout = call.team.layout();
    workload.in_place = call.send == MPI_IN_PLACE &&
                        (collective == Collective::alltoall || collective == Collective::alltoallv);
    const bool root = call.team.rank() == call.root;
    switch (collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::scan:
    case Collective::exscan:
    case Collective::reduce_scatter_block:
        describe_reduction(workload, call.receive_count, call.receive_count, call);
        break;
    case Collective::reduce_scatter: {
        const MPI_Count whole = total(call.receive_counts, call.team.size());
        describe_reduction(workload, whole, whole, call);
        break;
    }
    case Collective::bcast:
    case Collective::allgather:
    case Collective::alltoall:
        workload.bytes = bytes_of(call.receive_count, call.receive_type);
        break;
    case Collective::allgatherv:
        workload.bytes = bytes_of(total(call.receive_counts, call.team.size()), call.receive_type);
        break;
    case Collective::gather:
        workload.bytes = root ? bytes_of(call.receive_count, call.receive_type)
                              : bytes_of(call.send_count, call.send_type);
        break;
    case Collective::scatter:
        workload.bytes = root ? bytes_of(call.send_count, call.send_type)
                              : bytes_of(call.receive_count, call.receive_type);
        break;
    default:  // not known to all
        break;
    }
    return workload;
}

}  // namespace mpiric::coll
