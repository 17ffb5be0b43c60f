// A fixed computation whose time shows the speed of the core.
#pragma once

#include <cstdint>

namespace mpiric::system {

/// Runs the same dependent integer multiplications several times, for about 2 ms in all, and returns the
/// shortest time of one pass in ns: preemption between passes does not count, the clock frequency does. It
/// touches no memory. On a crowded CPU it ends after fewer passes.
uint64_t reference_work_ns() noexcept;

}  // namespace mpiric::system
