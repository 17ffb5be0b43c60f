// What a Fortran library and the C library under it share.
// clang-format off
#pragma once

/// A function of the C library for the Fortran library: MPICH's own name for programs of MPICH's family, a
/// name of ours for others, which a library underneath does not call by mistake.
#if MPIRIC_IS(MPIRIC_PROGRAM) == 1
#define FOR_FORTRAN(name) MPII_##name
#else
#define FOR_FORTRAN(name) mpiric_##name
#endif

/// The common blocks in which Open MPI's Fortran keeps the variables for MPI_BOTTOM and similar constants.
#define COMMON_BLOCKS(_)                                                                                      \
    _(BOTTOM, bottom) _(IN_PLACE, in_place) _(ARGV_NULL, argv_null) _(ARGVS_NULL, argvs_null)                  \
    _(ERRCODES_IGNORE, errcodes_ignore) _(STATUS_IGNORE, status_ignore) _(STATUSES_IGNORE, statuses_ignore)    \
    _(UNWEIGHTED, unweighted) _(WEIGHTS_EMPTY, weights_empty)
