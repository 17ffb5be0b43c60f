// The cheapest clock of this processor, and a short rest in a loop that waits for another one.
#pragma once

#include <cstdint>

namespace mpiric {

/// Ticks of a counter that runs at one rate on every core. Not ordered with the loads around it: an ordered
/// read would cost more than the interval that it measures.
inline uint64_t ticks() noexcept {
    uint64_t now;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
}

inline void rest() noexcept { asm volatile("isb" ::: "memory"); }

}  // namespace mpiric
