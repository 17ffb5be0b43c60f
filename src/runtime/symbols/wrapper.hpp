// The wrappers of each function; wrap/ defines them.
#pragma once

#include "symbols/next.hpp"

namespace mpiric::symbols {

/// Code of a wrapper for each of the two names of a function; null where there is none.
struct Wrapper {
    void* by_name = nullptr;
    void* by_profiling_name = nullptr;
};

Wrapper wrapper_of(Function function) noexcept;

}  // namespace mpiric::symbols
