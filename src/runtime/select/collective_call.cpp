#include "select/collective_call.hpp"

#include "coll/datatype.hpp"

namespace mpiric::select {

bool commutes(const CollectiveCall& call) noexcept {
    int commutative = 1;
    return !reduces(call.collective) ||
           (world::library.Op_commutative(call.op, &commutative) == MPI_SUCCESS && commutative);
}

bool is_composed(const CollectiveCall& call) noexcept {
    constexpr uint64_t largest_predefined = 32;  // bytes
    if (reduces(call.collective) || call.bytes == 0)
        return false;
    const coll::Geometry geometry = coll::geometry_of(call.type);
    return !geometry.dense() || geometry.size > largest_predefined;
}

}  // namespace mpiric::select
