// The exported names. A call of the program goes on to its translation, or to what stands above that; a call that the library
// makes of itself, while it answers one, straight to the library: with arguments of the library's types, so it is told apart
// before any of them is read.
.macro ENTRANCE name index
    .globl \name
    .type \name, @function
    .p2align 4
\name:
.Lentrance_\name:
    endbr64
    movq mpiric_depth@gottpoff(%rip), %r11
    movl $\index, %r10d
    cmpl $0, %fs:(%r11)
    jne .Lown_\name
    jmp *(mpiric_targets + 8 * \index)(%rip)
.Lown_\name:
    jmp *(mpiric_originals + 8 * \index)(%rip)
    .size \name, . - \name
    .pushsection .data.rel.ro.mpiric_entrances, "aw", @progbits
    .quad .Lentrance_\name
    .popsection
.endm

    .section .data.rel.ro.mpiric_entrances, "aw", @progbits
    .globl mpiric_entrances
    .hidden mpiric_entrances
    .p2align 3
mpiric_entrances:
    .text
#include "generated/entrances.inc"

// The first call of the process: keeps the registers of the arguments, opens the library, and goes where the call should.
    .type mpiric_first_call, @function
mpiric_first_call:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    andq $-16, %rsp
    subq $64, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %r10, 48(%rsp)
    call mpiric_open
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %r10
    leave
    .cfi_def_cfa %rsp, 8
    leaq mpiric_targets(%rip), %r11
    jmp *(%r11, %r10, 8)
    .cfi_endproc
    .size mpiric_first_call, . - mpiric_first_call

// A function that the library lacks, or that is refused: it is named.
    .globl mpiric_lacking
    .hidden mpiric_lacking
    .type mpiric_lacking, @function
mpiric_lacking:
    movl %r10d, %edi
    shrl $1, %edi
    jmp mpiric_refuse
    .size mpiric_lacking, . - mpiric_lacking

    .data
    .p2align 3
    .globl mpiric_targets, mpiric_originals
    .hidden mpiric_targets, mpiric_originals
mpiric_targets:
    .rept 2 * FUNCTION_COUNT
    .quad mpiric_first_call
    .endr
mpiric_originals:
    .rept 2 * FUNCTION_COUNT
    .quad mpiric_lacking
    .endr
    .section .note.GNU-stack, "", @progbits
