// The bound on how late output is: a thread that writes out what is held, asleep while nothing is.
#pragma once

#include <cstdint>

namespace mpiric::deferred {

/// Starts the thread; held output is written `after_ms` after bound_lateness() was called. False when the
/// thread cannot be started: then nothing may be held.
bool begin_lateness(uint32_t after_ms, void (*write_out)()) noexcept;

/// Something is held from now on. Cheap where that is known already.
void bound_lateness() noexcept;

}  // namespace mpiric::deferred
