// The exported symbols: MPI_ and PMPI_ names as generated, then those of libc, and dlopen.
#include "mpiric_available.h"
#include "entrance.inc"

    .section .data.mpiric_slots, "aw", @progbits
    .globl mpiric_slots
    .hidden mpiric_slots
    .p2align 6
mpiric_slots:
    .text
    FIRST_CALL
#include "symbols/generated/entrances.inc"

    // The first calls of libc's names once more: slots that are to lead there again take them from here.
    .section .data.rel.ro.mpiric_first, "aw", @progbits
    .globl mpiric_posix_first
    .hidden mpiric_posix_first
    .p2align 3
mpiric_posix_first:
    .text
    .altmacro
    .set posix_slot, 2 * MPIRIC_FUNCTION_COUNT
.macro POSIX_ENTRANCE name
    ENTRANCE \name, %posix_slot
    .pushsection .data.rel.ro.mpiric_first, "aw", @progbits
    .quad .Lfirst_\name
    .popsection
    .set posix_slot, posix_slot + 1
.endm
#define MPIRIC_POSIX(name) POSIX_ENTRANCE name
#include "files/posix.inc"

    OPENING_ENTRANCE

    .section .note.GNU-stack, "", @progbits
