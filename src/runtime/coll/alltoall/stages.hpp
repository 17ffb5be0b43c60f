// Alltoall: the arguments of alltoall and alltoallv in the form that its algorithms need.
#pragma once

#include "coll/blocks.hpp"
#include "coll/buffers.hpp"

namespace mpiric::coll {

/// One rank's part: the cells for each other rank, and the places of the cells from each.
struct Cells {
    explicit Cells(const Arguments& call) noexcept
        : team(call.team), in_place(call.send == MPI_IN_PLACE), out(sent_by(call)), in(received_by(call)) {}

    /// This rank's cell for itself.
    int keep_own() const noexcept {
        const int me = team.rank();
        return in_place
                   ? MPI_SUCCESS
                   : copy(team, out.at(me), out.count(me), out.type(), in.at(me), in.count(me), in.type());
    }

    const Team& team;
    const bool in_place;
    const RankBlocks<const char> out;
    const RankBlocks<char> in;
};

/// All cells of an alltoall as two rows of bytes.
class Rows {
  public:
    explicit Rows(const Arguments& call)
        : call_(call), cells_(call), block_(uint64_t(call.receive_count) * world::size_of(call.receive_type)),
          packed_(cells_.in_place || !geometry_of(cells_.out.type()).dense()
                      ? block_ * uint64_t(call.team.size())
                      : 0),
          target_(call.team, call.receive, call.receive_count * call.team.size(), call.receive_type) {}

    /// Gathers what goes out.
    int begin() noexcept {
        MPIRIC_TRY(target_.error());
        const bool dense = !cells_.in_place && geometry_of(cells_.out.type()).dense();
        out_ = dense ? cells_.out.at(0) : packed_.data();
        if (dense)
            return MPI_SUCCESS;
        if (!out_)
            return MPI_ERR_NO_MEM;
        return pack(call_.team, cells_.out.at(0), cells_.out.count(0) * call_.team.size(), cells_.out.type(),
                    packed_.data());
    }
    /// Puts what has come into the program's buffer.
    int end() noexcept { return target_.store(); }

    uint64_t block() const noexcept { return block_; }
    const char* out(int rank) const noexcept { return out_ + block_ * uint64_t(rank); }
    char* in(int rank) const noexcept { return target_.data() + block_ * uint64_t(rank); }

  private:
    const Arguments& call_;
    Cells cells_;
    uint64_t block_;
    Scratch packed_;
    Target target_;
    const char* out_ = nullptr;
};

/// Bytes of scratch memory that Rows may take.
inline uint64_t two_rows(const Workload& workload) noexcept {
    return 2 * workload.bytes * uint64_t(workload.layout.size);
}

}  // namespace mpiric::coll
