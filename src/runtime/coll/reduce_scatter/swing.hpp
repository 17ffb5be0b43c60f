// Who meets whom in Swing, and which blocks they then exchange.
#pragma once

#include <bit>
#include <vector>

namespace mpiric::coll {

class Swing {
  public:
    explicit Swing(int size) noexcept : size_(size) {}

    int steps() const noexcept { return std::countr_zero(unsigned(size_)); }

    /// Even ranks go (1 − (−2)^(step+1))/3 to the right, odd ones to the left: the distance grows slower than
    /// 2^step.
    int peer(int rank, int step) const noexcept {
        int power = -2;
        for (int at = 0; at < step; ++at)
            power *= -2;
        const int distance = (1 - power) / 3;
        return ((rank + (rank % 2 ? -distance : distance)) % size_ + size_) % size_;
    }

    /// The blocks that a rank still gathers from `step` on: its own and the blocks of ranks that it has yet
    /// to meet, ascending.
    std::vector<int> from(int rank, int step) const;

  private:
    int size_;
};

}  // namespace mpiric::coll
