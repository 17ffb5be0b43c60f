// The runtime's options as spec/options.toml declares them, read once from the environment.
#pragma once

#include <cstdint>

namespace mpiric {

#define MPIRIC_CHOICE(type, ...) enum class type : uint8_t { __VA_ARGS__ };
#define MPIRIC_OPTION(...)
#include <base/options.inc>
#undef MPIRIC_CHOICE
#undef MPIRIC_OPTION

// In the order of spec/options.toml. NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Options {
#define MPIRIC_CHOICE(...)
#define MPIRIC_OPTION(type, field, otherwise, ...) type field = otherwise;
#include <base/options.inc>
#undef MPIRIC_OPTION
    bool all_come_to_finalize = true;  ///< false: a rank must not wait for the others in MPI_Finalize
};

/// Options of this process. An option with an invalid value keeps its default.
Options read_options() noexcept;

}  // namespace mpiric

#undef MPIRIC_CHOICE
