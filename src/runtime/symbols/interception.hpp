// Where each exported name leads.
#pragma once

namespace mpiric::symbols {

/// Leads every exported name straight to its next definition, from here on.
void step_aside() noexcept;

/// Leads starts and completions of requests to their wrappers, also when nothing is recorded.
void watch_completions() noexcept;

/// Leads the POSIX names to their wrappers.
void watch_posix() noexcept;

}  // namespace mpiric::symbols
