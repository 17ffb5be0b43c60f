#include "system/reference_work.hpp"

#include "base/clock.hpp"

#include <algorithm>

namespace mpiric::system {
namespace {

constexpr int passes = 8;
constexpr int multiplications = 200'000;  ///< 4 cycles each with the addition: 0.25 ms at 3 GHz
constexpr uint64_t longest_ns = 4'000'000;

void pass() noexcept {
    uint64_t value = 1;
    for (int at = 0; at < multiplications; ++at) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        asm volatile("" : "+r"(value));  // each step is executed, after the one before
    }
}

}  // namespace

uint64_t reference_work_ns() noexcept {
    const uint64_t begin = now_ns();
    uint64_t shortest = UINT64_MAX, now = begin;
    for (int at = 0; at < passes && now - begin < longest_ns; ++at) {
        const uint64_t before = now;
        pass();
        now = now_ns();
        shortest = std::min(shortest, now - before);
    }
    return shortest;
}

}  // namespace mpiric::system
