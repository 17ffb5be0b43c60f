// Totals of the calls of this process's allocator: interface between the counting library and the runtime.
#pragma once

#include <cstdint>

namespace mpiric::allocator {

struct Totals {
    uint64_t calls;        ///< calls that allocate memory
    uint64_t large_calls;  ///< calls for as many bytes as glibc maps separately by default
    uint64_t time_ns;      ///< time in allocations and in free, over all threads
};

}  // namespace mpiric::allocator

/// Null in a process without the library that counts: for the runtime, which refers to it weakly.
extern "C" [[gnu::weak]] mpiric::allocator::Totals mpiric_allocator_totals() noexcept;
