// clang-format off
// The two families of this build: the program's and the library's. MPIRIC_PROGRAM, MPIRIC_LIBRARY and MPIRIC_HANDLES name them.
#pragma once

#include "classes.hpp"

#include <cstdint>
#include <type_traits>

#include MPIRIC_FAMILY_FILE(MPIRIC_PROGRAM)
#include MPIRIC_FAMILY_FILE(MPIRIC_LIBRARY)

namespace mpiric::translate {

namespace program = MPIRIC_PROGRAM;
namespace library = MPIRIC_LIBRARY;

template <class T> using PHandle = program::HandleOf<T>::type;
template <class T> using LHandle = library::HandleOf<T>::type;

#define CLASS(name)                                                                                          \
    using P##name = PHandle<name>;                                                                           \
    using L##name = LHandle<name>;
HANDLE_CLASSES(CLASS)
#undef CLASS
using PStatus = program::Status;
using LStatus = library::Status;

static_assert(program::UNDEFINED == library::UNDEFINED, "MPI_UNDEFINED is passed on as it is");

}  // namespace mpiric::translate

#include MPIRIC_TEXT(handles/MPIRIC_HANDLES.hpp)
