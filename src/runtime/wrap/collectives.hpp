// The collectives as the tuner dispatches them: the next functions of their wrappers while it is at work.
#pragma once

#include "symbols/next.hpp"

namespace mpiric::wrap {

/// The tuner's functions for the MPI_ name and for the PMPI_ name; nulls for a function that is not tuned.
symbols::NextFunction tuned(symbols::Function function) noexcept;

/// The next functions that the tuner's took the place of.
extern constinit symbols::NextFunction untuned[symbols::function_count];

}  // namespace mpiric::wrap
