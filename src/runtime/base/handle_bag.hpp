// Growing tables from handles to small values, up to a limit that no sane program reaches.
#pragma once

#include "base/spin_lock.hpp"
#include <cstdint>
#include <cstdlib>

namespace mpiric {

/// A multimap, not for several threads at once.
template <class Value> class HandleBag {
  public:
    constexpr HandleBag() noexcept = default;
    HandleBag(const HandleBag&) = delete;
    HandleBag& operator=(const HandleBag&) = delete;

    /// Returns false when memory is short.
    bool put(uint64_t handle, const Value& value) noexcept {
        if (front_.taken) {
            if (!put_into_table(handle, value))
                return false;
        } else {
            front_ = {handle, true, value};
        }
        __atomic_store_n(&used_, used_ + 1, __ATOMIC_RELAXED);
        return true;
    }

    /// Takes one entry of the handle out; false when there is none.
    bool take(uint64_t handle, Value& value) noexcept {
        if (front_.handle == handle && front_.taken) {
            value = front_.value;
            front_.taken = false;
        } else if (!take_from_table(handle, value)) {
            return false;
        }
        __atomic_store_n(&used_, used_ - 1, __ATOMIC_RELAXED);
        return true;
    }

    /// An entry of the handle, null when there is none.
    const Value* find(uint64_t handle) const noexcept {
        if (front_.handle == handle && front_.taken)
            return &front_.value;
        const Entry& entry = entries_[slot_of(handle)];
        return entry.taken ? &entry.value : nullptr;
    }

    bool empty() const noexcept { return __atomic_load_n(&used_, __ATOMIC_RELAXED) == 0; }

  private:
    struct Entry {
        uint64_t handle = 0;
        bool taken = false;
        Value value{};
    };
    static constexpr uint32_t first_slots = 256, most_slots = 1u << 20;

    uint32_t home_of(uint64_t handle) const noexcept {
        return uint32_t((handle * 0x9E3779B97F4A7C15ull) >> 32) & mask_;
    }
    /// The first slot that the handle has, or the free slot where it would be.
    uint32_t slot_of(uint64_t handle) const noexcept {
        uint32_t at = home_of(handle);
        while (entries_[at].taken && entries_[at].handle != handle)
            at = (at + 1) & mask_;
        return at;
    }
    [[gnu::noinline]] bool put_into_table(uint64_t handle, const Value& value) noexcept {
        if (used_ >= most_used_ && !grow()) [[unlikely]]
            return false;
        insert(handle, value);
        return true;
    }
    [[gnu::noinline]] bool take_from_table(uint64_t handle, Value& value) noexcept {
        uint32_t at = slot_of(handle);
        Entry* const all = entries_;
        if (!all[at].taken)
            return false;
        value = all[at].value;
        if (all[(at + 1) & mask_].taken) [[unlikely]]
            at = close_up(at);
        all[at].taken = false;
        return true;
    }
    void insert(uint64_t handle, const Value& value) noexcept {
        Entry* const all = entries_;
        const uint32_t mask = mask_;
        uint32_t at = home_of(handle);
        while (all[at].taken)
            at = (at + 1) & mask;
        all[at] = {handle, true, value};
    }
    /// Moves entries that were pushed past a hole back into it; returns where the hole is then.
    uint32_t close_up(uint32_t hole) noexcept {
        for (uint32_t at = (hole + 1) & mask_; entries_[at].taken; at = (at + 1) & mask_) {
            const uint32_t home = home_of(entries_[at].handle);
            if (((at - home) & mask_) >= ((at - hole) & mask_)) {
                entries_[hole] = entries_[at];
                hole = at;
            }
        }
        return hole;
    }
    bool grow() noexcept {
        const uint32_t slots = mask_ + 1;
        if (slots == most_slots)
            return false;
        auto* larger = static_cast<Entry*>(std::calloc(size_t{2} * slots, sizeof(Entry)));
        if (!larger)
            return false;
        Entry* const old = entries_;
        entries_ = larger;
        mask_ = 2 * slots - 1;
        most_used_ = slots / 2 * 3;
        for (uint32_t at = 0; at < slots; ++at)
            if (old[at].taken)
                insert(old[at].handle, old[at].value);
        if (old != first_)
            std::free(old);
        return true;
    }

    Entry front_ = {};  ///< the only handle while the table is empty: most programs wait for one at a time
    Entry first_[first_slots] = {};
    Entry* entries_ = first_;
    uint32_t mask_ = first_slots - 1;
    uint32_t used_ = 0, most_used_ = first_slots / 4 * 3;
};

/// A map with one entry a handle, for several threads.
template <class Value> class HandleMap {
  public:
    /// Returns false when memory is short.
    bool put(uint64_t handle, const Value& value) noexcept {
        const Held held(lock_, true);
        Value before;
        bag_.take(handle, before);
        return bag_.put(handle, value);
    }
    /// Puts a value unless the handle has one; returns the value that it has then, none when memory is short.
    Value put_new(uint64_t handle, const Value& value) noexcept {
        const Held held(lock_, true);
        if (const Value* found = bag_.find(handle))
            return *found;
        return bag_.put(handle, value) ? value : Value{};
    }
    bool get(uint64_t handle, Value& value) noexcept {
        const Held held(lock_, true);
        const Value* found = bag_.find(handle);
        if (found)
            value = *found;
        return found;
    }
    /// Takes the entry out; false when there is none.
    bool take(uint64_t handle, Value& value) noexcept {
        const Held held(lock_, true);
        return bag_.take(handle, value);
    }
    void erase(uint64_t handle) noexcept {
        Value before;
        take(handle, before);
    }

  private:
    HandleBag<Value> bag_;
    SpinLock lock_;
};

}  // namespace mpiric
