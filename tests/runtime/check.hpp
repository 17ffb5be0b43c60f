// What the tests of the runtime say when a fact does not hold.
#pragma once

#include <cstdio>

inline int failures = 0;

#define CHECK(fact)                                                                                          \
    do {                                                                                                     \
        if (!(fact)) {                                                                                       \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fact);                          \
            ++failures;                                                                                      \
        }                                                                                                    \
    } while (false)
