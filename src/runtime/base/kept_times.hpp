// When calls of one kind were made: a fixed number of times, however many calls there are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpiric {

/// Keeps the time of the call that `row.next` names: calls 1, 1 + stride, 1 + 2 strides, … Where there is no
/// room left every second time is dropped and the stride doubles; the call whose time is to be kept is then
/// still one of these.
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
