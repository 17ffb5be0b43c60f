// The kernel's clocks.
#pragma once

#include <cstdint>
#include <ctime>

namespace mpiric {

inline uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) noexcept {
    timespec now;
    clock_gettime(clock, &now);
    return uint64_t(now.tv_sec) * 1'000'000'000u + uint64_t(now.tv_nsec);
}

}  // namespace mpiric
