// A fixed map from handles to small values. Erasing closes the gap, so that it never fills with tombstones.
#pragma once

#include "base/spin_lock.hpp"

#include <cstdint>

namespace mpiric {

template <class Value, uint32_t Capacity> class HandleMap {
    static_assert((Capacity & (Capacity - 1)) == 0);

  public:
    /// Returns false when the map is full.
    bool put(uint64_t handle, const Value& value) noexcept {
        const Held held(lock_, true);
        uint32_t at = slot(handle);
        if (!entries_[at].taken) {
            if (used_ == Capacity / 4 * 3)
                return false;
            ++used_;
        }
        entries_[at] = {handle, true, value};
        return true;
    }

    bool get(uint64_t handle, Value& value) noexcept {
        const Held held(lock_, true);
        const Entry& entry = entries_[slot(handle)];
        if (entry.taken)
            value = entry.value;
        return entry.taken;
    }

    void erase(uint64_t handle) noexcept {
        const Held held(lock_, true);
        uint32_t hole = slot(handle);
        if (!entries_[hole].taken)
            return;
        --used_;
        // Entries that were pushed past the hole move back into it.
        for (uint32_t at = next(hole); entries_[at].taken; at = next(at)) {
            const uint32_t home = home_of(entries_[at].handle);
            if (((at - home) & (Capacity - 1)) >= ((at - hole) & (Capacity - 1))) {
                entries_[hole] = entries_[at];
                hole = at;
            }
        }
        entries_[hole] = Entry{};
    }

  private:
    struct Entry {
        uint64_t handle = 0;
        bool taken = false;
        Value value{};
    };
    static uint32_t next(uint32_t at) noexcept { return (at + 1) & (Capacity - 1); }
    static uint32_t home_of(uint64_t handle) noexcept {
        return uint32_t((handle * 0x9E3779B97F4A7C15ull) >> 32) & (Capacity - 1);
    }
    uint32_t slot(uint64_t handle) const noexcept {
        uint32_t at = home_of(handle);
        while (entries_[at].taken && entries_[at].handle != handle)
            at = next(at);
        return at;
    }

    Entry entries_[Capacity] = {};
    uint32_t used_ = 0;
    SpinLock lock_;
};

}  // namespace mpiric
