// The functions by number, the classes of handles, and the names of the families.
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

namespace mpiric::translate {

enum Function : unsigned {
#define FUNCTION(name, how) F_##name,
#include "generated/names.inc"
#undef FUNCTION
    function_count
};

/// A class of handles: its place in tables, the bits of MPICH's handles, and the functions to and from
/// Fortran's.
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

}  // namespace mpiric::translate
