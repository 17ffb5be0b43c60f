// What the operating system knows of this process, as facts of the record.
#pragma once

#include <cstdint>

namespace mpiric::system {

using Tell = void (*)(const char* key, const char* value);

/// The same number in every rank of one run on which the launcher has put a name, else of one parent process
/// and host.
uint64_t job() noexcept;

/// Host, program, place; starts the counters.
void tell_beginning(Tell tell, bool counters) noexcept;

/// Memory, faults, times, switches, I/O totals, threads, counters: their change since the beginning.
void tell_end(Tell tell) noexcept;

}  // namespace mpiric::system
