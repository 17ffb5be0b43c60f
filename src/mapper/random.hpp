// Random numbers that are equal on all machines: SplitMix64 (Steele, Lea, Flood 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mpiric::mapper {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_{seed} {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    // Returns a number below `bound`, which must be below 2^32; the bias is below 2^-32.
    std::uint32_t below(std::size_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
    }

    // Returns an independent stream for a part of the work, independent of the thread.
    static Random of(std::uint64_t seed, std::uint64_t part) {
        return Random{Random{seed ^ (part * 0xd1b54a32d192ed03U)}.next()};
    }

    template <class T> void shuffle(std::vector<T>& items) {
        for (std::size_t i = items.size(); i > 1; --i)
            std::swap(items[i - 1], items[below(i)]);
    }

  private:
    std::uint64_t state_;
};

}  // namespace mpiric::mapper
