// Hints of MPI-IO that the program does not give itself.
#pragma once

#include "symbols/next.hpp"

namespace mpiric::layouts {

/// Puts a function that adds hints before MPI_File_open.
void insert_hints(symbols::Function function, symbols::NextFunction& following) noexcept;

}  // namespace mpiric::layouts
