// clang-format off
// The two families of this build: the program's and the library's. MPIRIC_PROGRAM, MPIRIC_LIBRARY and MPIRIC_HANDLES name them.
#pragma once

#define MPIRIC_TEXT_OF(name) #name
#define MPIRIC_TEXT(name) MPIRIC_TEXT_OF(name)
#define MPIRIC_FAMILY_FILE(family) MPIRIC_TEXT(families/family.hpp)

#define MPIRIC_IS_mpich 1
#define MPIRIC_IS_openmpi 2
#define MPIRIC_IS_standard 3
#define MPIRIC_IS(family) MPIRIC_IS_OF(family)
#define MPIRIC_IS_OF(family) MPIRIC_IS_##family

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

#define CLASS(name, type)                                                                                    \
    using P##name = PHandle<type>;                                                                           \
    using L##name = LHandle<type>;
CLASS(Comm, Comm)
CLASS(Group, Group)
CLASS(Datatype, Datatype)
CLASS(Op, Op)
CLASS(Request, Request)
CLASS(Win, Win)
CLASS(File, File)
CLASS(Info, Info)
CLASS(Errhandler, Errhandler)
CLASS(Message, Message)
CLASS(Session, Session)
#undef CLASS
using PStatus = program::Status;
using LStatus = library::Status;

static_assert(program::UNDEFINED == library::UNDEFINED, "MPI_UNDEFINED is passed on as it is");

}  // namespace mpiric::translate

#include MPIRIC_TEXT(handles/MPIRIC_HANDLES.hpp)
