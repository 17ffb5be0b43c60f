// Attributes of Fortran: the interface of MPICH's Fortran library to its C library, and of ours to every
// stand-in.
#pragma once

namespace mpiric::translate {

/// How a value was given: MPICH's numbers.
enum AttributeType : int { attribute_pointer = 0, attribute_aint = 1, attribute_int = 3 };

// Fortran's callbacks are reached through these: they know the convention of the program's functions.
template <class Handle>
using CopyProxy = int (*)(void* function, Handle, int keyval, void* extra, AttributeType, void* value,
                          void** result, int* flag);
template <class Handle>
using DeleteProxy = int (*)(void* function, Handle, int keyval, AttributeType, void* value, void* extra);

}  // namespace mpiric::translate
