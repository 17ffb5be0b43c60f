// Reads the options from the environment, once, when MPI is first called.
#include "base/options.hpp"

#include <cstdlib>
#include <cstring>

namespace mpiric {
namespace {

const char* value_of(const char* variable) noexcept {
    const char* value = std::getenv(variable);
    return value ? value : "";
}

void read(const char*& option, const char* variable) noexcept { option = value_of(variable); }

void read(bool& option, const char* variable) noexcept {
    if (const char* value = value_of(variable); *value)
        option = std::strcmp(value, "0") != 0;
}

void read(uint32_t& option, const char* variable) noexcept {
    const char* value = value_of(variable);
    char* end = nullptr;
    const unsigned long number = std::strtoul(value, &end, 10);
    if (*value && !*end && number <= 1'000'000)
        option = static_cast<uint32_t>(number);
}

/// An empty value is 0.
void read(double& option, const char* variable) noexcept {
    const char* value = std::getenv(variable);
    char* end = nullptr;
    const double number = value ? std::strtod(value, &end) : -1;
    if (number >= 0 && number < 1e11 && !*end)
        option = number;
}

template <class Choice, class... Names>
void read(Choice& option, const char* variable, const Names&... names) noexcept {
    int at = 0;
    ((option = std::strcmp(value_of(variable), names) == 0 ? Choice(at) : option, ++at), ...);
}

}  // namespace

Options read_options() noexcept {
    Options options;
#define MPIRIC_CHOICE(...)
#define MPIRIC_OPTION(type, field, otherwise, ...) read(options.field, __VA_ARGS__);
#include <base/options.inc>
#undef MPIRIC_CHOICE
#undef MPIRIC_OPTION
    bool no_collective_finalize = false;
    read(no_collective_finalize, "MPIR_CVAR_NO_COLLECTIVE_FINALIZE");  // MPICH's own
    options.all_come_to_finalize = !no_collective_finalize;
    if (no_collective_finalize)
        options.merge = Merge::never;
    if (options.learn_at_most > 1)
        options.learn_at_most = Options().learn_at_most;
    if (std::strcmp(value_of("MPIRIC_COLLECTIVES"), "restless") == 0)  // its name before
        options.collectives = Collectives::rotate;
    if (!*options.mark)
        options.mark_out = "";
    return options;
}

}  // namespace mpiric
