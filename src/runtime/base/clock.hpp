// The kernel's clocks, and times of calls: a fixed number of times, however many calls there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace mpiric {

inline uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) noexcept {
    timespec now;
    clock_gettime(clock, &now);
    return uint64_t(now.tv_sec) * 1'000'000'000u + uint64_t(now.tv_nsec);
}

/// Keeps the time of the call that `row.next` names: calls 1, 1 + stride, 1 + 2 strides, … Where there is no
/// room left every second time is dropped and the stride doubles; the next one is still one of these.
template <class Row, size_t count> void keep_time(Row& row, uint64_t (&times)[count], uint64_t now) noexcept {
    static_assert(count % 2 == 0);
    if (row.kept >= count) {
        for (size_t at = 0; at < count / 2; ++at)
            times[at] = times[2 * at];
        row.kept = count / 2;
        row.stride *= 2;
    }
    times[row.kept] = now;
    ++row.kept;
    row.next += row.stride;
}

}  // namespace mpiric
