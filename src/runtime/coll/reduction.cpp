#include "coll/reduction.hpp"

#include <cstring>

namespace mpiric::coll {

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
