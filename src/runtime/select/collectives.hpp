// The functions that the tuner puts before the library's: collectives, which it dispatches, and functions
// that give handles back.
#pragma once

#include "symbols/next.hpp"

namespace mpiric::select {

/// The tuner's functions for the MPI_ name and for the PMPI_ name; nulls for a function that is not tuned.
symbols::NextFunction tuned(symbols::Function function) noexcept;

/// Puts the tuner's functions before the following ones.
void insert_tuned(symbols::Function function, symbols::NextFunction& following) noexcept;

}  // namespace mpiric::select
