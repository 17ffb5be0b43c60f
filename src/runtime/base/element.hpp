// Properties of the elements of a datatype, for code without MPI.
#pragma once

#include <cstdint>

namespace mpiric {

enum class ElementKind : uint8_t {
    unknown,    ///< not asked yet
    scattered,  ///< elements with holes or of several parts, whose bytes cannot be compared
    other,
    floating,
    signed_integer,
    unsigned_integer
};

struct Element {
    ElementKind kind = ElementKind::unknown;
    uint8_t width = 0;  ///< bytes of one number; an element may have several
};

}  // namespace mpiric
