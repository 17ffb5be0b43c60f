// Where each exported name leads.
#pragma once

#include <cstdint>

namespace mpiric::symbols {

/// Leads every exported name straight to its next definition, from here on.
void step_aside() noexcept;

/// Leads starts and completions of requests to their wrappers, also when nothing is recorded.
void watch_completions() noexcept;

/// Leads every function of MPI that is more than local to its wrapper, also when nothing is recorded.
void watch_everything() noexcept;

/// How many times a library has been opened by name: what is loaded may have changed since.
uint32_t library_openings() noexcept;

/// Leads the POSIX names anew, once what they lead to has changed.
void lead_posix() noexcept;

/// Leads the POSIX names to their wrappers.
void watch_posix() noexcept;

/// Leaves visible to later look-ups those MPI names that the loaded library has, and no other: a program that
/// looks for a function must find what it would find without us. While no MPI library is loaded, it finds
/// none.
void show_what_the_library_has() noexcept;

}  // namespace mpiric::symbols
