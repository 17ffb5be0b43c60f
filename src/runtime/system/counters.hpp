// Hardware counters of this process through perf_event, where the kernel and the machine allow it.
#pragma once

#include "system/process.hpp"

namespace mpiric::system {

/// Starts what can be started, for this thread and those it makes from now on.
void open_counters() noexcept;

/// Adds `counter.<name>`, scaled when the kernel had to share the hardware, and closes them.
void add_counters(AddFact add_fact) noexcept;

}  // namespace mpiric::system
