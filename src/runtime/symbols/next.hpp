// The wrapped functions by name, and the next definition of each, as in RTLD_NEXT. Numbers are positions in
// the generated table and never leave the process without the names.
#pragma once

#include <cstdint>
#include <string_view>

namespace mpiric::symbols {

enum class Function : uint16_t {
#define MPIRIC_FUNCTION(name, ...) name,
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
    count
};

inline constexpr uint32_t function_count = static_cast<uint32_t>(Function::count);

/// Names and families, `name family` on a line each.
inline constexpr std::string_view function_names =
#define MPIRIC_FUNCTION(name, family, ...) #name " " #family "\n"
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
    ;

inline constexpr const char* profiling_names[function_count] = {
#define MPIRIC_FUNCTION(name, ...) "P" #name,
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
};
constexpr const char* name_of(Function function) noexcept {
    return profiling_names[static_cast<uint32_t>(function)] + 1;
}

/// Classes of spec/mpi/recording.toml, as the generated table has them.
enum class Family : uint8_t {
    collective,
    file,
    local,
    manage,
    one_sided,
    persistent,
    poll,
    receive,
    send,
    start,
    wait
};

inline constexpr Family families[function_count] = {
#define MPIRIC_FUNCTION(name, family, ...) Family::family,
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION
};
constexpr Family family_of(Function function) noexcept { return families[static_cast<uint32_t>(function)]; }

/// Whether calls of a function may count the steps of a program: these are the same in every run. The number
/// of calls that poll, wait or receive varies from run to run.
constexpr bool counts_steps(Function function) noexcept {
    const Family family = family_of(function);
    return family == Family::collective || family == Family::send || family == Family::start;
}

/// Whether calls of a function go through a wrapper while marks are armed: functions that may count steps,
/// functions that make communicators and persistent requests, and functions that may call either of these.
constexpr bool watched_by_marks(Function function) noexcept {
    const Family family = family_of(function);
    return counts_steps(function) || family == Family::manage || family == Family::persistent ||
           family == Family::file;
}

/// Targets of calls of a function. A layer that replaces the function puts its own here for both names,
/// and keeps the targets before, to call them.
struct NextFunction {
    void* next = nullptr;     ///< target of the MPI_ name: the library's function, or a tool's before it
    void* library = nullptr;  ///< target of the PMPI_ name: the library's own

    void* of(bool by_profiling_name) const noexcept { return by_profiling_name ? library : next; }
};
extern constinit NextFunction next_functions[function_count];

/// Code of a wrapper (wrap/) for each of the two names of a function; null where there is none.
struct Wrapper {
    void* by_name = nullptr;
    void* by_profiling_name = nullptr;
};

Wrapper wrapper_of(Function function) noexcept;

/// The wrapper of a name of libc, a number of Posix; null where this libc lacks the name, or it has none.
void* posix_wrapper_of(uint32_t at) noexcept;

}  // namespace mpiric::symbols
