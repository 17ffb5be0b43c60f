// The functions by number, the classes of handles, attributes, and the names of the families.
#pragma once

// clang-format off
#define MPIRIC_TEXT_OF(name) #name
#define MPIRIC_TEXT(name) MPIRIC_TEXT_OF(name)
#define MPIRIC_FAMILY_FILE(family) MPIRIC_TEXT(families/family.hpp)
// clang-format on

#define MPIRIC_IS_mpich 1
#define MPIRIC_IS_openmpi 2
#define MPIRIC_IS_standard 3
#define MPIRIC_IS(family) MPIRIC_IS_OF(family)
#define MPIRIC_IS_OF(family) MPIRIC_IS_##family

#include <climits>
#include <cstdint>

namespace mpiric::translate {

// Values for constants that a family does not have.
inline constexpr int absent = INT_MIN;         // an integer of the interface
inline constexpr int invalid = INT_MIN + 1;    // no family gives this a meaning: every library refuses it
inline constexpr int unwritten = INT_MIN + 2;  // field of a status that the library has not written
inline constexpr unsigned long long unwritten_bytes = (1ull << 62) + 1;  // likewise: no message is that long
inline constexpr std::uint32_t absent_handle = ~0u;

enum Function : unsigned {
#define FUNCTION(name, how) F_##name,
#include "generated/names.inc"
#undef FUNCTION
    function_count
};

/// A class of handles: its place in tables, the bits of MPICH's handles, and functions to and from Fortran's.
template <int place, unsigned mpich_kind, Function to_fortran, Function from_fortran> struct Class {
    static constexpr int index = place;
    static constexpr unsigned kind = mpich_kind;
    static constexpr Function c2f = to_fortran;
    static constexpr Function f2c = from_fortran;
};
struct Comm : Class<0, 1, F_MPI_Comm_c2f, F_MPI_Comm_f2c> {};
struct Group : Class<1, 2, F_MPI_Group_c2f, F_MPI_Group_f2c> {};
struct Datatype : Class<2, 3, F_MPI_Type_c2f, F_MPI_Type_f2c> {};
struct Op : Class<3, 6, F_MPI_Op_c2f, F_MPI_Op_f2c> {};
struct Request : Class<4, 11, F_MPI_Request_c2f, F_MPI_Request_f2c> {};
struct Win : Class<5, 8, F_MPI_Win_c2f, F_MPI_Win_f2c> {};
struct File : Class<6, 4, F_MPI_File_c2f, F_MPI_File_f2c> {};
struct Info : Class<7, 7, F_MPI_Info_c2f, F_MPI_Info_f2c> {};
struct Errhandler : Class<8, 5, F_MPI_Errhandler_c2f, F_MPI_Errhandler_f2c> {};
struct Message : Class<9, 11, F_MPI_Message_c2f, F_MPI_Message_f2c> {};
struct Session : Class<10, 14, F_MPI_Session_c2f, F_MPI_Session_f2c> {};
inline constexpr int class_count = 11;

#define HANDLE_CLASSES(_)                                                                                    \
    _(Comm) _(Group) _(Datatype) _(Op) _(Request) _(Win) _(File) _(Info) _(Errhandler) _(Message) _(Session)

// Attributes of Fortran: the interface of MPICH's Fortran library to its C library, and ours to stand-ins.

/// How a value was given: MPICH's numbers.
enum AttributeType : int { attribute_pointer = 0, attribute_aint = 1, attribute_int = 3 };

// Fortran's callbacks are reached through these: they know the convention of the program's functions.
template <class Handle>
using CopyProxy = int (*)(void* function, Handle, int keyval, void* extra, AttributeType, void* value,
                          void** result, int* flag);
template <class Handle>
using DeleteProxy = int (*)(void* function, Handle, int keyval, AttributeType, void* value, void* extra);

}  // namespace mpiric::translate
