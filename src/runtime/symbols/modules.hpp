// The file that a code address belongs to and its load address, for readers after the run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpiric::symbols {

/// Where a file of code was mapped.
struct CodeModule {
    const void* start = nullptr;
    char path[4096] = "";
};

/// Finds the executable or library that contains an address; false when there is none.
bool find_module(const void* address, CodeModule& module) noexcept;

/// Records the fact `module.<start>=<path>` of the executable or library with an address, once for each.
void record_module(void* address) noexcept;

// Reading what a pointer of unknown origin may point to.

/// Copies a short printable text from an arbitrary address. False when the address does not hold such a text.
bool read_text(const void* from, char* to, size_t room) noexcept;

/// Copies bytes from an address that this process may not be able to read; false then.
bool read_bytes(const void* from, void* to, size_t bytes) noexcept;

}  // namespace mpiric::symbols
