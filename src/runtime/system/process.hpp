// Facts of the record about this process, from the operating system.
#pragma once

#include "base/seat.hpp"
#include <cstddef>
#include <cstdint>

namespace mpiric::system {

using AddFact = void (*)(const char* key, const char* value);

/// Adds a number as text.
void add_number(AddFact add_fact, const char* key, uint64_t value) noexcept;

/// Notes what the process has used so far, for the facts: to be called as MPI is about to be initialised.
void take_usage_before_mpi() noexcept;

/// Adds host, program and placement; starts the counters.
void add_start_facts(AddFact add_fact, bool counters) noexcept;

/// Adds memory, I/O totals, threads and counters: differences since the start.
void add_end_facts(AddFact add_fact) noexcept;

/// Whether the driver of an accelerator is loaded: a pointer may then lead to its memory.
bool device_driver_loaded() noexcept;

// The NUMA domain and the package that this process is bound to.

/// The seat of a process that may run on the CPUs of `mask`, according to the kernel's files below `sysfs`.
Seat read_seat(const char* sysfs, const unsigned long* mask, size_t bits) noexcept;

/// The seat of the calling thread.
Seat own_seat() noexcept;

// The run that this process belongs to, told apart from other runs without asking the other ranks.

/// A number that all ranks of one run have in common, on whatever hosts: made of the names that its launcher
/// gave the run, else of the parent process and the host.
uint64_t job() noexcept;

/// Takes the command line of hydra's proxy, words of /proc, into a hash: where the launcher listens, which
/// the proxies of all hosts were told, and the number of the world that they start. False when it is none.
bool take_proxy(const char* words, size_t length, uint64_t& hash) noexcept;

// Output that a program has written and still holds in its buffers.

/// Hands the kernel what stdio and the units of gfortran hold; false when not all of it could be written. A
/// full disk or a reader that is gone costs the program no signal that it would not have met by itself.
bool flush_output() noexcept;

/// Waits, for a twentieth of a second at most, until who reads standard output and standard error has read
/// all that was written there: launchers drop what they have not read of a run that is aborted.
void wait_for_readers() noexcept;

/// Flushes at a moment of the wall clock, in a thread that sleeps until then and takes no signals.
void flush_output_at(double unix_s) noexcept;

}  // namespace mpiric::system
