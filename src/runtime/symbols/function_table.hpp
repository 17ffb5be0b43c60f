// Macros over the table of functions, symbols/functions.inc, which is generated from spec/mpi:
//   MPIRIC_FUNCTION(name, class, wrapper, profiling, communicators, presence)
//   class          class of spec/mpi/recording.toml
//   wrapper        a Timing (wrap/intercept.hpp)
//   profiling      caller of the PMPI_ name: program, or library where Fortran layers call it for themselves
//   communicators  bit mask of the parameters in which a rank order substitutes the communicator
//   presence       recent where old libraries lack the function, else everywhere
//
// MPIRIC_SELECT(PREFIX, name) is PREFIX_1 if the header of this build declares the function, else PREFIX_0.
// The preprocessor of the assembler reads this file too.
#pragma once

#include <mpiric_available.h>

#define MPIRIC_JOIN_TEXT(left, right) left##right
#define MPIRIC_JOIN(left, right) MPIRIC_JOIN_TEXT(left, right)
#define MPIRIC_SELECT(prefix, name) MPIRIC_JOIN(prefix##_, MPIRIC_HAS_##name)
