// What the allocator of this process has been called for: between the library that counts and the runtime.
#pragma once

#include <cstdint>

namespace mpiric::allocator {

struct Totals {
    uint64_t calls;        ///< that hand out memory
    uint64_t large_calls;  ///< those for as much as glibc would map apart, before it adapts
    uint64_t time_ns;      ///< in these, and in giving back, of all threads
};

}  // namespace mpiric::allocator

/// Null in a process without the library that counts: for the runtime, which refers to it weakly.
extern "C" [[gnu::weak]] mpiric::allocator::Totals mpiric_allocator_totals() noexcept;
