// The collectives as the tuner answers them: what stands behind their names when it is at work.
#pragma once

#include "symbols/functions.hpp"
#include "symbols/interception.hpp"

namespace mpiric::wrap {

/// What answers a function by its MPI_ name and by its PMPI_ name; nulls for functions that are not tuned.
Behind tuned(Function function) noexcept;

/// What lay behind before the tuner stood there.
extern constinit Behind untuned[function_count];

}  // namespace mpiric::wrap
