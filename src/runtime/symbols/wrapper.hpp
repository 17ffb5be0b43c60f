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

/// The wrapper of a name of libc, a number of Posix; null where this libc lacks the name, or it has none.
void* posix_wrapper_of(uint32_t at) noexcept;

}  // namespace mpiric::symbols
