// Positions of the blocks of the ranks in a buffer of the program: consecutive, or given by the arrays of a
// v-form.
#pragma once

#include "coll/datatype.hpp"
#include "coll/team.hpp"

namespace mpiric::coll {

/// One side of a call on a rank where that side counts; `Byte` is `char` for the receiving side.
template <class Byte> class RankBlocks {
  public:
    RankBlocks(Byte* base, MPI_Count each, const Counts& counts, const Counts& displacements,
               MPI_Datatype type) noexcept
        : base_(base), each_(each), counts_(counts), displacements_(displacements), type_(type),
          extent_(geometry_of(type).extent) {}

    MPI_Datatype type() const noexcept { return type_; }
    MPI_Count count(int rank) const noexcept { return counts_ ? counts_[rank] : each_; }
    Byte* at(int rank) const noexcept {
        return base_ + extent_ * MPI_Aint(counts_ ? displacements_[rank] : each_ * rank);
    }

  private:
    Byte* base_;
    MPI_Count each_;
    Counts counts_, displacements_;
    MPI_Datatype type_;
    MPI_Aint extent_;
};

inline RankBlocks<char> received_by(const Arguments& call) noexcept {
    return {static_cast<char*>(call.receive), call.receive_count, call.receive_counts,
            call.receive_displacements, call.receive_type};
}

/// With MPI_IN_PLACE, data is sent from the receive buffer.
inline RankBlocks<const char> sent_by(const Arguments& call) noexcept {
    if (call.send == MPI_IN_PLACE)
        return {static_cast<const char*>(call.receive), call.receive_count, call.receive_counts,
                call.receive_displacements, call.receive_type};
    return {static_cast<const char*>(call.send), call.send_count, call.send_counts, call.send_displacements,
            call.send_type};
}

}  // namespace mpiric::coll
