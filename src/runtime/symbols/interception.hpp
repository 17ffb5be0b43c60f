// Where each exported name leads.
#pragma once

namespace mpiric::symbols {

/// From here on every exported name leads straight on, as if the runtime were not there.
void step_aside() noexcept;

/// Starts and completions of requests lead to their wrappers, also when nothing is recorded.
void watch_completions() noexcept;

/// The POSIX names lead to their wrappers while something is recorded.
void watch_posix() noexcept;

}  // namespace mpiric::symbols
