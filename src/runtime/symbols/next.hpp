// The wrapped functions by name, and the next definition of each, as in RTLD_NEXT. Numbers are positions in
// the generated list and never leave the process without the names.
#pragma once

#include <cstdint>
#include <string_view>

namespace mpiric::symbols {

enum class Function : uint16_t {
#define MPIRIC_FUNCTION(name, family) name,
#include "symbols/generated/functions.inc"
#undef MPIRIC_FUNCTION
    count
};

inline constexpr uint32_t function_count = static_cast<uint32_t>(Function::count);

/// Names and families, `name family` on a line each.
inline constexpr std::string_view function_names =
#define MPIRIC_FUNCTION(name, family) #name " " #family "\n"
#include "symbols/generated/functions.inc"
#undef MPIRIC_FUNCTION
    ;

/// Where collectives are tuned, both are the tuner's, which has the true ones from wrap/collectives.hpp.
struct NextFunction {
    void* next = nullptr;     ///< what the MPI_ name leads to without us: the library, or a tool before it
    void* library = nullptr;  ///< the library's own
};
extern constinit NextFunction next_functions[function_count];

}  // namespace mpiric::symbols
