// Facts of the record about this process, from the operating system.
#pragma once

#include <cstdint>

namespace mpiric::system {

using AddFact = void (*)(const char* key, const char* value);

/// Notes what the process has used so far, for the facts: to be called as MPI is about to be initialised.
void take_usage_before_mpi() noexcept;

/// Adds host, program and placement; starts the counters.
void add_start_facts(AddFact add_fact, bool counters) noexcept;

/// Adds memory, I/O totals, threads and counters: differences since the start.
void add_end_facts(AddFact add_fact) noexcept;

/// Whether the driver of an accelerator is loaded: a pointer may then lead to memory that the processor
/// cannot access.
bool device_driver_loaded() noexcept;

}  // namespace mpiric::system
