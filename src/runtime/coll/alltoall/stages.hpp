// Alltoall: what its algorithms ask of the arguments of alltoall and alltoallv.
#pragma once

#include "coll/buffers.hpp"

namespace mpiric::coll {

/// One rank's part: what it has for each other and where what comes from each goes.
class Cells {
  public:
    explicit Cells(const Call& call) noexcept
        : call_(call), in_place_(call.send == MPI_IN_PLACE), varied_(bool(call.receive_counts)),
          out_extent_(in_place_ ? 0 : geometry_of(call.send_type).extent),
          in_extent_(geometry_of(call.receive_type).extent) {}

    bool in_place() const noexcept { return in_place_; }
    MPI_Count in_count(int rank) const noexcept {
        return varied_ ? call_.receive_counts[rank] : call_.receive_count;
    }
    MPI_Datatype in_type() const noexcept { return call_.receive_type; }
    char* in(int rank) const noexcept {
        const MPI_Count at = varied_ ? call_.receive_places[rank] : call_.receive_count * rank;
        return static_cast<char*>(call_.receive) + in_extent_ * MPI_Aint(at);
    }
    /// In place, what goes out lies where what comes in goes.
    MPI_Count out_count(int rank) const noexcept {
        if (in_place_)
            return in_count(rank);
        return varied_ ? call_.send_counts[rank] : call_.send_count;
    }
    MPI_Datatype out_type() const noexcept { return in_place_ ? call_.receive_type : call_.send_type; }
    const char* out(int rank) const noexcept {
        if (in_place_)
            return in(rank);
        const MPI_Count at = varied_ ? call_.send_places[rank] : call_.send_count * rank;
        return static_cast<const char*>(call_.send) + out_extent_ * MPI_Aint(at);
    }
    /// This rank's cell for itself.
    int keep_own() const noexcept {
        const int me = call_.team.rank();
        return in_place_
                   ? MPI_SUCCESS
                   : copy(call_.team, out(me), out_count(me), out_type(), in(me), in_count(me), in_type());
    }

  private:
    const Call& call_;
    bool in_place_, varied_;
    MPI_Aint out_extent_, in_extent_;
};

/// All cells of an alltoall as two rows of bytes.
class Rows {
  public:
    explicit Rows(const Call& call)
        : call_(call), cells_(call), block_(uint64_t(call.receive_count) * world::size_of(call.receive_type)),
          packed_(cells_.in_place() || !geometry_of(cells_.out_type()).dense()
                      ? block_ * uint64_t(call.team.size())
                      : 0),
          target_(call.team, call.receive, call.receive_count * call.team.size(), call.receive_type) {}

    /// Gathers what goes out.
    int begin() noexcept {
        MPIRIC_TRY(target_.error());
        const bool dense = !cells_.in_place() && geometry_of(cells_.out_type()).dense();
        out_ = dense ? cells_.out(0) : packed_.data();
        if (dense)
            return MPI_SUCCESS;
        if (!out_)
            return MPI_ERR_NO_MEM;
        return pack(call_.team, cells_.out(0), cells_.out_count(0) * call_.team.size(), cells_.out_type(),
                    packed_.data());
    }
    /// Puts what has come into the program's buffer.
    int end() noexcept { return target_.store(); }

    uint64_t block() const noexcept { return block_; }
    const char* out(int rank) const noexcept { return out_ + block_ * uint64_t(rank); }
    char* in(int rank) const noexcept { return target_.data() + block_ * uint64_t(rank); }

  private:
    const Call& call_;
    Cells cells_;
    uint64_t block_;
    Scratch packed_;
    Target target_;
    const char* out_ = nullptr;
};

/// Bytes of scratch memory that Rows may take.
inline uint64_t two_rows(const Shape& shape) noexcept {
    return 2 * shape.bytes * uint64_t(shape.layout.size);
}

}  // namespace mpiric::coll
