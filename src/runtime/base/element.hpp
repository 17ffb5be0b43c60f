// What the elements of a datatype are, for code that knows no MPI.
#pragma once

#include <cstdint>

namespace mpiric {

enum class ElementKind : uint8_t {
    unknown,    ///< not asked yet
    scattered,  ///< with holes, or of several parts: not to be read as it lies
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
