// The wrapped functions by name. Numbers are positions in the generated list and never leave the process
// without the names.
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

}  // namespace mpiric::symbols
