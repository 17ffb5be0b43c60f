// Which file a place in the program is from, and where that was mapped: what its address means after the run.
#pragma once

namespace mpiric::wrap {

/// Writes the fact `module.<start>=<path>` of the executable or library that an address lies in, once for
/// each.
void tell_module(void* address) noexcept;

}  // namespace mpiric::wrap
