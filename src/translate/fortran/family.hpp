// The family of the program whose Fortran this is. MPIRIC_PROGRAM names it; MPIRIC_C makes the name of the C
// function that a binding calls: Open MPI's own call the profiling names.
// clang-format off
#pragma once

#include "classes.hpp"

#include <cstdint>
#include <type_traits>

#include MPIRIC_FAMILY_FILE(MPIRIC_PROGRAM)

#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
#define C(name) P##name
#else
#define C(name) name
#endif

namespace mpiric::translate {

namespace program = MPIRIC_PROGRAM;
template <class T> using PHandle = program::HandleOf<T>::type;
#define CLASS(name) using P##name = PHandle<name>;
HANDLE_CLASSES(CLASS)
#undef CLASS
using PStatus = program::Status;

/// Whether a handle of C is Fortran's integer.
template <class T> inline constexpr bool is_number = std::is_same_v<PHandle<T>, int>;

}  // namespace mpiric::translate

// Classes of handles that C and Fortran convert into each other: the name in the functions, the type.
#define CONVERTED_CLASSES(_)                                                                                  \
    _(Comm, Comm) _(Group, Group) _(Type, Datatype) _(Op, Op) _(Request, Request) _(Win, Win) _(File, File)   \
    _(Info, Info) _(Errhandler, Errhandler) _(Message, Message) _(Session, Session)

extern "C" {
using namespace mpiric::translate;
#include "generated/fortran_prototypes.inc"
#define CONVERSION(name, type)                                                                                \
    int C(MPI_##name##_c2f)(P##type);                                                                         \
    P##type C(MPI_##name##_f2c)(int);
CONVERTED_CLASSES(CONVERSION)
#undef CONVERSION
}
