// How a buffer is divided among the members of a group.
#pragma once

#include "coll/counts.hpp"

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
    uint64_t largest(int members) const noexcept {
        uint64_t most = 0;
        for (int at = 0; at < members; ++at)
            most = std::max(most, size(at));
        return most;
    }

  private:
    Blocks(uint64_t each, uint64_t longer) noexcept : each_(each), longer_(longer) {}

    uint64_t each_, longer_, unit_ = 1;
    std::vector<uint64_t> begins_;
};

}  // namespace mpiric::coll
