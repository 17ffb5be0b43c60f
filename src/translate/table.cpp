#include "table.hpp"

#include "library.hpp"

#include <new>
#include <sys/mman.h>

namespace mpiric::translate {

Table::Index* Table::make_index(std::size_t size) {
    auto* index = new (::operator new(sizeof(Index) + size * sizeof(Entry))) Index;
    index->mask = size - 1;
    for (std::size_t at = 0; at < size; ++at)
        new (index->entries() + at) Entry;
    return index;
}

void Table::make() {
    // Addresses are reserved, not memory. A limit on them (ulimit -v) leaves less.
    for (most_ = 1u << 26; most_ > 1u << 16; most_ >>= 1) {
        void* at = mmap(nullptr, sizeof(void*) * most_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) {
            addresses_ = static_cast<void**>(at);
            break;
        }
    }
    make_room();
    index_.store(make_index(1u << 12), std::memory_order_release);
}

void Table::make_room() {
    constexpr std::uint32_t step = 1u << 17;  // a MiB
    if (!addresses_ || room_ == most_ ||
        mprotect(static_cast<void*>(addresses_ + room_), sizeof(void*) * step, PROT_READ | PROT_WRITE) != 0)
        give_up("out of memory for the handles of more than %u objects", room_);
    room_ += step;
}

std::uint32_t Table::known(void* address) const {
    const Index* index = index_.load(std::memory_order_acquire);
    for (std::size_t at = place(address, index->mask);; at = (at + 1) & index->mask) {
        const void* key = index->entries()[at].key.load(std::memory_order_acquire);
        if (key == address)
            return index->entries()[at].value;
        if (!key)
            return 0;
    }
}

void Table::learn(void* address, std::uint32_t value) {
    if (const std::lock_guard held(changing_); address && !known(address))
        insert(address, value);
}

std::uint32_t Table::add(void* address) {
    if (const std::uint32_t value = known(address))
        return value;
    const std::lock_guard held(changing_);
    if (const std::uint32_t value = known(address))
        return value;
    const std::uint32_t number = used_.load(std::memory_order_relaxed);
    if (number == room_)
        make_room();
    addresses_[number] = address;
    used_.store(number + 1, std::memory_order_release);
    insert(address, number);
    return number;
}

void Table::insert(void* address, std::uint32_t value) {
    Index* index = index_.load(std::memory_order_relaxed);
    if (2 * index->filled > index->mask) {  // the old one stays: others may be reading it
        Index* larger = make_index(4 * (index->mask + 1));
        for (std::size_t from = 0; from <= index->mask; ++from) {
            void* key = index->entries()[from].key.load(std::memory_order_relaxed);
            std::size_t at = place(key, larger->mask);
            while (key && larger->entries()[at].key.load(std::memory_order_relaxed))
                at = (at + 1) & larger->mask;
            if (key) {
                larger->entries()[at].value = index->entries()[from].value;
                larger->entries()[at].key.store(key, std::memory_order_relaxed);
            }
        }
        larger->filled = index->filled;
        index_.store(larger, std::memory_order_release);
        index = larger;
    }
    std::size_t at = place(address, index->mask);
    while (index->entries()[at].key.load(std::memory_order_relaxed))
        at = (at + 1) & index->mask;
    index->entries()[at].value = value;
    index->entries()[at].key.store(address, std::memory_order_release);
    ++index->filled;
}

}  // namespace mpiric::translate
