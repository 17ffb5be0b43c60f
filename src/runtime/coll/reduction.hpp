// Operands of a reduction: elements with their datatype and operation, of any datatype and any operation.
#pragma once

#include "coll/buffers.hpp"
#include "coll/datatype.hpp"
#include "coll/message.hpp"

#include <cstring>
#include <utility>

namespace mpiric::coll {

/// Whether the library reduces this datatype by this operation at all: MPI's own operations take named types
/// only. Asked before an algorithm of ours is chosen: an error in the middle of one would leave other ranks
/// waiting, and not reach the program's handler.
inline bool can_reduce(MPI_Op op, MPI_Datatype type) noexcept {
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    if (world::is_predefined(op))
        world::library.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

class Reduction {
  public:
    Reduction(const Team& team, MPI_Datatype type, MPI_Op op) noexcept
        : team_(&team), type_(type), op_(op), geometry_(geometry_of(type)) {
        int answer = 0;
        commutative_ = world::library.Op_commutative(op, &answer) == MPI_SUCCESS && answer;
    }

    const Team& team() const noexcept { return *team_; }
    bool commutative() const noexcept { return commutative_; }
    const Geometry& geometry() const noexcept { return geometry_; }
    MPI_Datatype type() const noexcept { return type_; }
    uint64_t bytes(MPI_Count count) const noexcept { return geometry_.size * uint64_t(count); }

    char* at(void* base, MPI_Count element) const noexcept {
        return static_cast<char*>(base) + geometry_.extent * MPI_Aint(element);
    }
    const char* at(const void* base, MPI_Count element) const noexcept {
        return static_cast<const char*>(base) + geometry_.extent * MPI_Aint(element);
    }

    /// Elements that go through a slot at once. Those with gaps fit as a whole, or are not served.
    MPI_Count per_slot(uint32_t slot_bytes) const noexcept {
        return geometry_.dense() ? MPI_Count(slot_bytes / geometry_.size) : MPI_Count(INT32_MAX);
    }

    /// right = left ∘ right, element by element.
    int reduce(const void* left, void* right, MPI_Count count) const noexcept {
        return count ? world::library.Reduce_local(left, right, int(count), type_, op_) : MPI_SUCCESS;
    }
    int copy(const void* from, void* to, MPI_Count count) const noexcept {
        if (from == to || count == 0)
            return MPI_SUCCESS;
        if (!geometry_.dense())
            return exchange(from, count, team_->rank(), to, count, team_->rank());
        std::memcpy(to, from, bytes(count));
        return MPI_SUCCESS;
    }

    int send(const void* from, MPI_Count count, int to) const noexcept {
        return coll::send(*team_, from, count, type_, to);
    }
    int receive(void* into, MPI_Count count, int from) const noexcept {
        return coll::receive(*team_, into, count, type_, from);
    }
    int exchange(const void* out, MPI_Count out_count, int to, void* in, MPI_Count in_count,
                 int from) const noexcept {
        return coll::exchange(*team_, out, out_count, type_, to, in, in_count, type_, from);
    }

  private:
    const Team* team_;
    MPI_Datatype type_;
    MPI_Op op_;
    Geometry geometry_;
    bool commutative_;
};

/// Scratch memory for `count` elements, addressed as a program's buffer is.
class Elements {
  public:
    Elements(const Reduction& reduction, MPI_Count count) noexcept
        : memory_(span_of(reduction.geometry(), count)),
          data_(memory_.data() - offset_of(reduction.geometry(), count)) {}

    char* data() const noexcept { return data_; }
    int error() const noexcept { return memory_.data() ? MPI_SUCCESS : MPI_ERR_NO_MEM; }

  private:
    Scratch memory_;
    char* data_;
};

/// Two buffers of equal size that change roles, so that a left operand needs no copy:
/// `partial` is what has been reduced so far, `incoming` takes what is to join it.
struct Operands {
    char* partial;
    char* incoming;

    /// partial = incoming ∘ partial
    int join_from_left(const Reduction& reduction, MPI_Count count) noexcept {
        return reduction.reduce(incoming, partial, count);
    }
    /// partial = partial ∘ incoming
    int join_from_right(const Reduction& reduction, MPI_Count count) noexcept {
        if (reduction.commutative())
            return reduction.reduce(incoming, partial, count);
        const int code = reduction.reduce(partial, incoming, count);
        std::swap(partial, incoming);
        return code;
    }
};

/// This rank's input to an allreduce, reduce or scan.
inline const void* input_of(const Arguments& call) noexcept {
    return call.send == MPI_IN_PLACE ? call.receive : call.send;
}

}  // namespace mpiric::coll
