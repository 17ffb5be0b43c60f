// Files that one rank writes, made on its node's own disk and brought to their place in the background.
// Steps:
//   1. A file whose name fits a rule, which is not there yet and is opened to be written, is made in the
//      directory of the node ($TMPDIR); in its own place stands a symbolic link to it.
//   2. Once it is closed it is queued: a thread copies its bytes to a file beside the link, and renames that
//      over the link. Room is reserved at the close, so that a full disk is told there; where the file system
//      reserves none, the close waits for the copy.
//   3. What would show the difference waits for that, or asks for it: fsync, locks, another name, other ranks
//      that open the file, exec, exit, MPI_Finalize. A file that is still open then goes on in its own place,
//      under the same descriptor.
// What it gains: small writes do not reach the file system that all share, and the copy is made while the
// program computes. What a killed rank leaves is the link, and the bytes on its node: `mpiric gather` there
// brings them home.
#pragma once

#include "base/options.hpp"

#include <cstdint>

namespace mpiric::files::node_local {

bool wanted(const Options& options) noexcept;

/// Begins, once; the names of libc are led to the calls of this room by elsewhere::begin().
void begin(const Options& options) noexcept;

/// Whether calls by a name of libc, a number of Posix, pass before_call(): they leave this program, or share
/// its descriptors with another.
bool passes(uint32_t at) noexcept;
void before_call(uint32_t at) noexcept;

/// MPI is about to end: files that are closed are in their own places when it returns; `aborts`: all of them.
void before_end(bool aborts) noexcept;

}  // namespace mpiric::files::node_local
