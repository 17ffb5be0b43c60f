// Which file a code address belongs to, and where that was mapped: what the address means after the run.
#pragma once

#include <cstdint>

namespace mpiric::symbols {

/// Where a file of code was mapped.
struct CodeModule {
    const void* start = nullptr;
    char path[4096] = "";
};

/// Finds the executable or library that an address lies in; false when there is none.
bool find_module(const void* address, CodeModule& module) noexcept;

/// Records the fact `module.<start>=<path>` of the executable or library that an address lies in, once for
/// each.
void record_module(void* address) noexcept;

}  // namespace mpiric::symbols
