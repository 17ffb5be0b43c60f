// Topologies whose maker lets the library reorder ranks: the libraries keep them as they are, and the mapping
// engine puts neighbours on one node where that is asked for.
#pragma once

#include "symbols/next.hpp"

namespace mpiric::order {

/// Our function before the library's; null for one that makes no topology, and where it is not asked for.
void* topology_before_library(symbols::Function function) noexcept;

}  // namespace mpiric::order
