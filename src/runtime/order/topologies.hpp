// Topologies whose maker lets the library reorder ranks: the libraries keep them as they are, and the mapping
// engine puts neighbours on one node where that is asked for.
#pragma once

#include "symbols/next.hpp"

namespace mpiric::order {

/// Our function before the library's; null if the function does not make a topology, or reordering is off.
void* topology_before_library(symbols::Function function) noexcept;

}  // namespace mpiric::order
