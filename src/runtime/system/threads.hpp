// Where each thread of this process really is.
#pragma once

#include "system/process.hpp"

namespace mpiric::system {

/// Adds `thread.<tid>` as `<name> cpu=<last> affinity=<list> user_ticks=<n> system_ticks=<n>` for each
/// thread that lives.
void add_threads(AddFact add_fact) noexcept;

}  // namespace mpiric::system
