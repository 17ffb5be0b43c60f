// Constants of the MPI standard's ABI whose effect can be observed, each with a call that shows it.
#pragma once

#include <span>

struct Check {
    const char* name;
    bool (*holds)();
    bool ends_the_process = false;  // true if the correct value ends the process
    bool needs_a_launcher = false;
};

std::span<const Check> abi_constants();
