// Text by a format of printf.
#pragma once

#include <cstdio>
#include <string>

namespace mpiric {

/// At most 511 bytes of text.
std::string formatted(const char* form, auto... values) {
    char text[512];
    std::snprintf(text, sizeof text, form, values...);
    return text;
}

}  // namespace mpiric
