// How a buffer is divided among the members of a group.
#pragma once

#include "coll/algorithm.hpp"
#include "coll/datatype.hpp"
#include "coll/team.hpp"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace mpiric::coll {

/// Consecutive blocks, one for each member, in bytes or in elements.
class Blocks {
  public:
    /// Blocks as even as possible: the first ones have one element more.
    static Blocks even(uint64_t whole, int members) noexcept {
        return Blocks{whole / uint64_t(members), whole % uint64_t(members)};
    }
    /// All of one size.
    static Blocks equal(uint64_t each) noexcept { return Blocks{each, 0}; }
    /// Blocks of the sizes in `counts`, in units of `unit`.
    static Blocks of(const Counts& counts, int members, uint64_t unit) {
        Blocks made{0, 0};
        made.begins_.assign(1, 0);
        for (int at = 0; at < members; ++at)
            made.begins_.push_back(made.begins_.back() + uint64_t(counts[at]) * unit);
        return made;
    }

    /// The same division in smaller units: elements to bytes.
    Blocks times(uint64_t unit) const {
        Blocks made{each_ * unit, longer_};
        made.unit_ = unit_ * unit;
        made.begins_ = begins_;
        return made;
    }

    uint64_t begin(int member) const noexcept {
        if (!begins_.empty())
            return begins_[size_t(member)] * unit_;
        return uint64_t(member) * each_ + std::min(uint64_t(member), longer_) * unit_;
    }
    uint64_t size(int member) const noexcept { return begin(member + 1) - begin(member); }
    /// Size of the largest of `members` blocks from the first one on.
    uint64_t largest(int members, int first = 0) const noexcept {
        uint64_t most = 0;
        for (int at = first; at < first + members; ++at)
            most = std::max(most, size(at));
        return most;
    }
    /// How much of a block is left behind `done`, at most `room`.
    uint64_t left(int member, uint64_t done, uint64_t room) const noexcept {
        return done < size(member) ? std::min(room, size(member) - done) : 0;
    }

  private:
    Blocks(uint64_t each, uint64_t longer) noexcept : each_(each), longer_(longer) {}

    uint64_t each_, longer_, unit_ = 1;
    std::vector<uint64_t> begins_;
};

// Positions of the blocks of the ranks in a buffer of the program: consecutive, or given by a v-form.

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
