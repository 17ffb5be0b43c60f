// Handles with something small for each, as many as there are: it grows, up to a limit that no sane program
// reaches. The same handle may be in it twice. Not for several threads at once.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace mpiric::wrap {

template <class Value> class HandleBag {
  public:
    /// False when there is no room.
    bool put(uint64_t handle, const Value& value) noexcept {
        if (used_ >= slots() / 4 * 3 && !grow())
            return false;
        place({handle, true, value});
        __atomic_store_n(&used_, used_ + 1, __ATOMIC_RELAXED);
        return true;
    }

    /// Takes one entry of the handle out; false when there is none.
    bool take(uint64_t handle, Value& value) noexcept {
        if (used_ == 0)
            return false;
        uint32_t hole = home_of(handle);
        while (entries()[hole].taken && entries()[hole].handle != handle)
            hole = next(hole);
        if (!entries()[hole].taken)
            return false;
        value = entries()[hole].value;
        // Those that were pushed past the hole move back into it.
        for (uint32_t at = next(hole); entries()[at].taken; at = next(at)) {
            const uint32_t home = home_of(entries()[at].handle);
            if (((at - home) & mask_) >= ((at - hole) & mask_)) {
                entries()[hole] = entries()[at];
                hole = at;
            }
        }
        entries()[hole] = Entry{};
        __atomic_store_n(&used_, used_ - 1, __ATOMIC_RELAXED);
        return true;
    }

    bool empty() const noexcept { return __atomic_load_n(&used_, __ATOMIC_RELAXED) == 0; }

  private:
    struct Entry {
        uint64_t handle = 0;
        bool taken = false;
        Value value{};
    };
    static constexpr uint32_t first_slots = 256, most_slots = 1u << 20;

    Entry* entries() noexcept { return larger_ ? larger_ : first_; }
    uint32_t slots() const noexcept { return mask_ + 1; }
    uint32_t next(uint32_t at) const noexcept { return (at + 1) & mask_; }
    uint32_t home_of(uint64_t handle) const noexcept {
        return uint32_t((handle * 0x9E3779B97F4A7C15ull) >> 32) & mask_;
    }
    void place(const Entry& entry) noexcept {
        uint32_t at = home_of(entry.handle);
        while (entries()[at].taken)
            at = next(at);
        entries()[at] = entry;
    }
    bool grow() noexcept {
        if (slots() == most_slots)
            return false;
        auto* larger = static_cast<Entry*>(std::calloc(slots() * 2, sizeof(Entry)));
        if (!larger)
            return false;
        Entry* old = entries();
        Entry* const old_larger = larger_;
        const uint32_t old_slots = slots();
        larger_ = larger;
        mask_ = old_slots * 2 - 1;
        for (uint32_t at = 0; at < old_slots; ++at)
            if (old[at].taken)
                place(old[at]);
        std::free(old_larger);
        return true;
    }

    Entry first_[first_slots] = {};
    Entry* larger_ = nullptr;
    uint32_t mask_ = first_slots - 1;
    uint32_t used_ = 0;
};

}  // namespace mpiric::wrap
