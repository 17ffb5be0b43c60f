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

    .altmacro
    .set posix_slot, 2 * MPIRIC_FUNCTION_COUNT
.macro POSIX_ENTRANCE name
    ENTRANCE \name, %posix_slot
    .set posix_slot, posix_slot + 1
.endm
#define MPIRIC_POSIX(name) POSIX_ENTRANCE name
#include "files/posix.inc"

    OPENING_ENTRANCE

    .section .note.GNU-stack, "", @progbits
