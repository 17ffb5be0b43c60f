// Addresses and numbers, one for the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace mpiric::translate {

/// Gives each address a number for good. A library that frees an object may put another at its address: that
/// one has the same number, and nothing ever needs to be taken out. Found without a lock.
class Table {
  public:
    static constexpr std::uint32_t first = 16;  // the numbers below are given by hand

    void make();
    /// The address of a number, null for an unused number.
    [[gnu::always_inline]] void* address(std::uint32_t number) const {
        return number < used_.load(std::memory_order_acquire) ? addresses_[number] : nullptr;
    }
    /// The value of an address: what `learn` has said, else its number, a new one when it has none.
    [[gnu::always_inline]] std::uint32_t value(void* address) {
        const Index* index = index_.load(std::memory_order_acquire);
        const Entry& likely = index->entries()[place(address, index->mask)];
        return likely.key.load(std::memory_order_acquire) == address ? likely.value : add(address);
    }
    /// The same where an address need not have a value; 0 then.
    std::uint32_t known(void* address) const;
    void learn(void* address, std::uint32_t value);
    void set(std::uint32_t number, void* address) { addresses_[number] = address; }

  private:
    struct Entry {
        std::atomic<void*> key{nullptr};
        std::uint32_t value = 0;
    };
    struct Index {
        std::size_t mask = 0, filled = 0;
        // The entries follow the index in memory.
        Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
        const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
    };
    static_assert(sizeof(Index) % alignof(Entry) == 0);
    static std::size_t place(void* address, std::size_t mask) {
        return (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u >> 32) & mask;
    }
    std::uint32_t add(void* address);
    void insert(void* address, std::uint32_t value);
    static Index* make_index(std::size_t size);
    void make_room();

    std::atomic<Index*> index_{nullptr};
    std::atomic<std::uint32_t> used_{first};
    void** addresses_ = nullptr;
    std::uint32_t room_ = 0, most_ = 0;
    std::mutex changing_;
};

}  // namespace mpiric::translate
