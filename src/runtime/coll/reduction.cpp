#include "coll/reduction.hpp"

#include "world/library.hpp"

#include <cstring>

namespace mpiric::coll {

bool can_reduce(MPI_Op op, MPI_Datatype type) noexcept {
    if (!world::is_predefined(op))
        return true;
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    world::library.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

Reduction::Reduction(const Team& team, MPI_Datatype type, MPI_Op op) noexcept
    : team_(&team), type_(type), op_(op), geometry_(geometry_of(type)) {
    int answer = 0;
    commutative_ = world::library.Op_commutative(op, &answer) == MPI_SUCCESS && answer;
}

int Reduction::copy(const void* from, void* to, MPI_Count count) const noexcept {
    if (from == to || count == 0)
        return MPI_SUCCESS;
    if (geometry_.dense()) {
        std::memcpy(to, from, bytes(count));
        return MPI_SUCCESS;
    }
    return exchange(from, count, team_->rank(), to, count, team_->rank());
}

}  // namespace mpiric::coll
