// A fixed table that is filled front to back and searched by hash: used entries are contiguous, so they can
// be copied at once.
#pragma once

#include "profile/format.hpp"

#include <cstdint>

namespace mpiric::profile {

/// Spreads the bits of a key; the high ones are the good ones.
inline uint64_t spread(uint64_t key) noexcept { return key * 0x9E3779B97F4A7C15ull; }

/// Finds positions of keys in a dense array of at most half as many entries as there are slots.
template <unsigned Bits> class DenseIndex {
  public:
    static constexpr uint32_t slots = 1u << Bits;

    /// The slot that holds a key (`same(position)`), or the free slot where it belongs.
    template <class Same> uint32_t slot(uint64_t key, Same&& same) const noexcept {
        uint32_t at = static_cast<uint32_t>(spread(key) >> (64 - Bits));
        while (position_[at] && !same(position_[at] - 1))
            at = (at + 1) & (slots - 1);
        return at;
    }
    bool free(uint32_t slot) const noexcept { return position_[slot] == 0; }
    uint32_t position(uint32_t slot) const noexcept { return position_[slot] - 1; }
    void put(uint32_t slot, uint32_t position) noexcept { position_[slot] = position + 1; }

  private:
    uint32_t position_[slots] = {};
};

}  // namespace mpiric::profile
