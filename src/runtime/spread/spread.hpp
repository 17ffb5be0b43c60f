// Files that a program makes many of in one directory, spread over subdirectories. Steps:
//   1. Once MPI is initialised, begin() puts itself between libc and all that calls it by name.
//   2. A file whose name fits a rule is made in `mpiric-spread/NN` beside its place, NN by a hash of its
//   name;
//      where it is in its own place already, it stays there.
//   3. Calls that name it find it where it is. `mpiric gather` puts all of them back after the run.
// What it gains: entries of one directory are made one after the other on its metadata server. What it does
// not see: listing the directory, and other programs, which find the files in the subdirectories.
#pragma once

#include "base/options.hpp"

#include <fcntl.h>
#include <sys/types.h>

namespace mpiric::spread {

/// Whether the options ask for any of it.
bool wanted(const Options& options) noexcept;

/// Begins, once; the caller then leads the names of libc anew.
void begin(const Options& options) noexcept;

/// The call that stands before libc's for a name, a number of Posix; null: none.
void* call_elsewhere(unsigned at) noexcept;

}  // namespace mpiric::spread
