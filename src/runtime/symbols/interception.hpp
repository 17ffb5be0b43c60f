// Where each exported name leads, and what lies behind it.
#pragma once

#include "symbols/functions.hpp"

#include <cstdint>

namespace mpiric::wrap {

/// The definitions behind one function. Where collectives are tuned, the tuner stands in both, and has the
/// true ones from wrap/collectives.hpp.
struct Behind {
    void* next =
        nullptr;  ///< what the MPI_ name would have reached without us: the library, or a tool between
    void* library = nullptr;  ///< the library's own
};
extern constinit Behind behind[function_count];

/// From here on every exported name leads straight on, as if the runtime were not there.
void step_aside() noexcept;

/// Starts and completions of requests lead to their wrappers, also when nothing is recorded.
void watch_completions() noexcept;

/// The POSIX names lead to their wrappers while something is recorded.
void watch_posix() noexcept;

}  // namespace mpiric::wrap
