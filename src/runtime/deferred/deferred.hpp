// Output that the program has written and this process still holds back: the same bytes in the same order,
// visible later. Steps:
//   1. Once MPI is initialised, begin() gives stdout, new stdio streams and small writes buffers.
//   2. Names of libc and MPI that could show or need what is held lead through before_call() and
//      before_mpi(), which write it out first.
//   3. Nothing is held longer than `late_ms`, whatever the program does meanwhile.
// When the process is killed, at most the contents of the buffers are lost. A descriptor that is sent to
// another process through a socket, and memory shared between processes as a sign that a file is ready, are
// not seen; step 3 bounds both.
#pragma once

#include "base/options.hpp"

#include <cstdint>

namespace mpiric::deferred {

/// Whether the options ask for anything held back, or any other change to how files are opened.
bool wanted(const Options& options) noexcept;

/// Replacement of a libc function, by its number in Posix; null: no replacement (calls.cpp).
void* deferring_call(uint32_t at) noexcept;

/// Writes out what is held of files.
void write_out_all() noexcept;

/// Begins, once; the caller then leads the names of libc anew.
void begin(const Options& options) noexcept;

/// Whether calls by a name of libc, a number of Posix, pass before_call().
bool passes(uint32_t at) noexcept;
/// Before a call that may show what is held, or needs room in a buffer.
void before_call(uint32_t at) noexcept;
/// Called before a call of MPI that may let another rank learn of written output; `ends`: the program leaves
/// MPI.
void before_mpi(bool ends) noexcept;

}  // namespace mpiric::deferred
