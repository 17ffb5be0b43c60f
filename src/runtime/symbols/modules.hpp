// The file that a code address belongs to and its load address, which give the address a meaning after the
// run.
#pragma once

#include <cstdint>

namespace mpiric::symbols {

/// Where a file of code was mapped.
struct CodeModule {
    const void* start = nullptr;
    char path[4096] = "";
};

/// Finds the executable or library that contains an address; false when there is none.
bool find_module(const void* address, CodeModule& module) noexcept;

/// Records the fact `module.<start>=<path>` of the executable or library that contains an address, once for
/// each.
void record_module(void* address) noexcept;

}  // namespace mpiric::symbols
