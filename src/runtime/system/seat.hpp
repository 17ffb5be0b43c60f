// The NUMA domain and the package that this process is bound to.
#pragma once

#include "base/seat.hpp"

#include <cstddef>

namespace mpiric::system {

/// The seat of a process that may run on the CPUs of `mask`, according to the kernel's files below `sysfs`.
Seat read_seat(const char* sysfs, const unsigned long* mask, size_t bits) noexcept;

/// The seat of the calling thread.
Seat own_seat() noexcept;

}  // namespace mpiric::system
