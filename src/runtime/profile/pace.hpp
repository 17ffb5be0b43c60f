// Number and times of the calls of each function from each place on each communicator, from which a program's
// steps are found.
#pragma once

#include "base/clock.hpp"
#include "profile/format.hpp"

#include <algorithm>
#include <cstdint>

namespace mpiric::profile {

// A fixed table that is filled front to back and searched by hash: used entries are contiguous.

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

class PaceTable {
  public:
    static constexpr uint32_t capacity = 512;

    /// Takes the two sections, zeroed, in the mapped file.
    void begin(Pace* rows, PaceTimes* times, SectionEntry& rows_entry, SectionEntry& times_entry) noexcept {
        rows_ = rows;
        times_ = times;
        rows_entry_ = &rows_entry;
        times_entry_ = &times_entry;
    }

    /// Counts a call that was over at this tick; true when it is the first of its kind.
    [[gnu::always_inline]] bool count(uint64_t address, uint32_t function, uint32_t communicator,
                                      uint64_t now) noexcept {
        const uint64_t key = address ^ uint64_t(function) << 48 ^ uint64_t(communicator) << 32;
        const uint32_t slot = index_.slot(key, [&](uint32_t at) {
            const Pace& row = rows_[at];
            return row.address == address && row.function == function && row.communicator == communicator;
        });
        if (index_.free(slot)) [[unlikely]]
            return add(slot, address, function, communicator, now);
        Pace& row = rows_[index_.position(slot)];
        if (++row.calls == row.next) [[unlikely]]
            keep(row, now);
        return false;
    }

  private:
    [[gnu::cold]] bool add(uint32_t slot, uint64_t address, uint32_t function, uint32_t communicator,
                           uint64_t now) noexcept {
        if (rows_entry_->used == rows_entry_->capacity) {
            ++rows_entry_->lost;
            return false;
        }
        const uint32_t position = rows_entry_->used;
        Pace& row = rows_[position];
        row = {address, function, communicator, 1, 1, 1, 0};
        keep(row, now);
        index_.put(slot, position);
        // Last: a reader may look at the file meanwhile.
        __atomic_store_n(&times_entry_->used, position + 1, __ATOMIC_RELEASE);
        __atomic_store_n(&rows_entry_->used, position + 1, __ATOMIC_RELEASE);
        return true;
    }
    [[gnu::cold]] void keep(Pace& row, uint64_t now) noexcept {
        uint64_t (&kept)[pace_time_count] = times_[&row - rows_].ticks;
        // With several threads a call may be counted late, with an earlier time than the call counted before.
        keep_time(row, kept, row.kept > 0 ? std::max(now, kept[row.kept - 1]) : now);
    }

    Pace* rows_ = nullptr;
    PaceTimes* times_ = nullptr;
    SectionEntry* rows_entry_ = nullptr;
    SectionEntry* times_entry_ = nullptr;
    DenseIndex<10> index_;
};

}  // namespace mpiric::profile
