// The exported symbols: MPI_ and PMPI_ names of the table of functions, then those of libc, and dlopen.
#include "symbols/function_table.hpp"
#include "entrance.inc"

    .section .data.mpiric_slots, "aw", @progbits
    .globl mpiric_slots
    .hidden mpiric_slots
    .p2align 6
mpiric_slots:
    .text
    FIRST_CALL

    // Two slots for each function of the table; a function that the header lacks keeps its slots.
    .altmacro
    .set slot, 0
.macro MPI_ENTRANCES name
    ENTRANCE \name, %slot
    .set slot, slot + 1
    ENTRANCE P\name, %slot
    .set slot, slot + 1
.endm
.macro NO_MPI_ENTRANCES
    NO_ENTRANCES
    .set slot, slot + 2
.endm
#define MPIRIC_ENTRANCES_1(name) MPI_ENTRANCES name
#define MPIRIC_ENTRANCES_0(name) NO_MPI_ENTRANCES
#define MPIRIC_FUNCTION(name, ...) MPIRIC_SELECT(MPIRIC_ENTRANCES, name)(name)
#include "symbols/functions.inc"
#undef MPIRIC_FUNCTION

    // The first calls of libc's names once more: slots that are to lead there again take them from here.
    .section .data.rel.ro.mpiric_first, "aw", @progbits
    .globl mpiric_posix_first
    .hidden mpiric_posix_first
    .p2align 3
mpiric_posix_first:
    .text
.macro POSIX_ENTRANCE name
    ENTRANCE \name, %slot
    .pushsection .data.rel.ro.mpiric_first, "aw", @progbits
    .quad .Lfirst_\name
    .popsection
    .set slot, slot + 1
.endm
#define MPIRIC_POSIX(name, ...) POSIX_ENTRANCE name
#include "posix/names.inc"

    OPENING_ENTRANCE

    .section .note.GNU-stack, "", @progbits
