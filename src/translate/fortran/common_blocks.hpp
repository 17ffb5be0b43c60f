// The common blocks in which Open MPI's Fortran keeps the variables for MPI_BOTTOM and similar constants.
// clang-format off
#pragma once

#define COMMON_BLOCKS(_)                                                                                      \
    _(BOTTOM, bottom) _(IN_PLACE, in_place) _(ARGV_NULL, argv_null) _(ARGVS_NULL, argvs_null)                  \
    _(ERRCODES_IGNORE, errcodes_ignore) _(STATUS_IGNORE, status_ignore) _(STATUSES_IGNORE, statuses_ignore)    \
    _(UNWEIGHTED, unweighted) _(WEIGHTS_EMPTY, weights_empty)
