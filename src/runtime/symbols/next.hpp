// The next definition of each wrapped function, as in RTLD_NEXT.
#pragma once

#include "symbols/functions.hpp"

namespace mpiric::symbols {

/// Where collectives are tuned, both are the tuner's, which has the true ones from wrap/collectives.hpp.
struct NextFunction {
    void* next = nullptr;     ///< what the MPI_ name leads to without us: the library, or a tool before it
    void* library = nullptr;  ///< the library's own
};
extern constinit NextFunction next_functions[function_count];

}  // namespace mpiric::symbols
