#include "profile/pace.hpp"

#include "base/kept_times.hpp"

#include <algorithm>

namespace mpiric::profile {

bool PaceTable::add(uint32_t slot, uint64_t address, uint32_t function, uint32_t communicator,
                    uint64_t now) noexcept {
    if (rows_entry_->used == rows_entry_->capacity) {
        ++rows_entry_->lost;
        return false;
    }
    const uint32_t position = rows_entry_->used;
    Pace& row = rows_[position];
    row = {address, function, communicator, 1, 1, 1, 0};
    keep(row, now);
    index_.put(slot, position);
    // Last: a reader may look at the file meanwhile.
    __atomic_store_n(&times_entry_->used, position + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&rows_entry_->used, position + 1, __ATOMIC_RELEASE);
    return true;
}

void PaceTable::keep(Pace& row, uint64_t now) noexcept {
    uint64_t (&kept)[pace_time_count] = times_[&row - rows_].ticks;
    // With several threads a call may be counted late, with an earlier time than the call counted before it.
    keep_time(row, kept, row.kept > 0 ? std::max(now, kept[row.kept - 1]) : now);
}

}  // namespace mpiric::profile
