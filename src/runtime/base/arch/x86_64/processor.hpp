// The cheapest clock of this processor, and a short rest in a loop that waits for another one.
#pragma once

#include <cstdint>
#include <x86intrin.h>

namespace mpiric {

/// Ticks of a counter that runs at one rate on every core. Not ordered with the loads around it: an ordered
/// read would cost more than the interval that it measures.
inline uint64_t ticks() noexcept { return __rdtsc(); }

inline void rest() noexcept { __builtin_ia32_pause(); }

}  // namespace mpiric
