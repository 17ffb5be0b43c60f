// Which file a code address belongs to, and where that was mapped: what the address means after the run.
#pragma once

namespace mpiric::symbols {

/// Records the fact `module.<start>=<path>` of the executable or library that an address lies in, once for
/// each.
void record_module(void* address) noexcept;

}  // namespace mpiric::symbols
