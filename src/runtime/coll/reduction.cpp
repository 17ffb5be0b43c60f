#include "coll/reduction.hpp"

#include <cstring>
#include <iterator>

namespace mpiric::coll {
namespace {

using world::handles;
using world::library;

/// While it lasts, errors that have no communicator are returned.
class Returned {
  public:
    Returned() noexcept {
        library.Comm_get_errhandler(handles.comm_world, &of_world_);
        library.Comm_get_errhandler(handles.comm_self, &of_self_);
        library.Comm_set_errhandler(handles.comm_world, handles.errors_return);
        library.Comm_set_errhandler(handles.comm_self, handles.errors_return);
    }
    ~Returned() {
        library.Comm_set_errhandler(handles.comm_world, of_world_);
        library.Comm_set_errhandler(handles.comm_self, of_self_);
        library.Errhandler_free(&of_world_);
        library.Errhandler_free(&of_self_);
    }
    Returned(const Returned&) = delete;
    Returned& operator=(const Returned&) = delete;

  private:
    MPI_Errhandler of_world_{}, of_self_{};
};

struct Asked {
    uint64_t op, type;
    uint32_t generation;
    bool answer;
};

}  // namespace

bool can_reduce(MPI_Op op, MPI_Datatype type) noexcept {
    static thread_local Asked asked[4];
    static thread_local unsigned next = 0;
    const uint32_t now = world::generation.load(std::memory_order_acquire);
    for (const Asked& known : asked)
        if (known.op == world::number(op) && known.type == world::number(type) && known.generation == now)
            return known.answer;
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    library.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    bool answer = combiner == MPI_COMBINER_NAMED;
    if (!answer) {
        const Returned errors;
        char none = 0;
        answer = library.Reduce_local(&none, &none, 0, type, op) == MPI_SUCCESS;
    }
    asked[next++ % std::size(asked)] = {world::number(op), world::number(type), now, answer};
    return answer;
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
