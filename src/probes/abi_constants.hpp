// The constants of the MPI standard's ABI that act, each with a call that shows what it does.
#pragma once

#include <span>

struct Check {
    const char* name;
    bool (*holds)();
    bool ends_the_process = false;  // the right value does
    bool needs_a_launcher = false;
};

std::span<const Check> abi_constants();
