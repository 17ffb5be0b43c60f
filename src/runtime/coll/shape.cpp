#include "coll/shape.hpp"

#include "coll/datatype.hpp"

namespace mpiric::coll {
namespace {

MPI_Count total(const Counts& counts, int ranks) noexcept {
    MPI_Count sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
        sum += counts[rank];
    return sum;
}

/// Adds what only reductions have.
void describe_reduction(Shape& shape, MPI_Count count, MPI_Count whole, const Call& call) noexcept {
    const Geometry type = geometry_of(call.receive_type);
    int commutes = 0;
    shape.commutative = world::library.Op_commutative(call.op, &commutes) == MPI_SUCCESS && commutes;
    shape.dense = type.dense();
    shape.count = uint64_t(count);
    shape.bytes = uint64_t(whole) * type.size;
    shape.span = span_of(type, count);
}

uint64_t bytes_of(MPI_Count count, MPI_Datatype type) noexcept {
    return uint64_t(count) * world::size_of(type);
}

}  // namespace

Shape shape_of(Collective collective, const Call& call) noexcept {
    Shape shape;
    shape.collective = collective;
    shape.layout = call.team.layout();
    shape.in_place = call.send == MPI_IN_PLACE &&
                     (collective == Collective::alltoall || collective == Collective::alltoallv);
    const bool root = call.team.rank() == call.root;
    switch (collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::scan:
    case Collective::exscan:
    case Collective::reduce_scatter_block:
        describe_reduction(shape, call.receive_count, call.receive_count, call);
        break;
    case Collective::reduce_scatter: {
        const MPI_Count whole = total(call.receive_counts, call.team.size());
        describe_reduction(shape, whole, whole, call);
        break;
    }
    case Collective::bcast:
    case Collective::allgather:
    case Collective::alltoall:
        shape.bytes = bytes_of(call.receive_count, call.receive_type);
        break;
    case Collective::allgatherv:
        shape.bytes = bytes_of(total(call.receive_counts, call.team.size()), call.receive_type);
        break;
    case Collective::gather:
        shape.bytes = root ? bytes_of(call.receive_count, call.receive_type)
                           : bytes_of(call.send_count, call.send_type);
        break;
    case Collective::scatter:
        shape.bytes = root ? bytes_of(call.send_count, call.send_type)
                           : bytes_of(call.receive_count, call.receive_type);
        break;
    default:  // not known to all
        break;
    }
    return shape;
}

}  // namespace mpiric::coll
