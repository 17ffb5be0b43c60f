// Files that all ranks read and none writes: read once, by rank 0, and sent to a copy on each node's own
// disk. Steps:
//   1. Once MPI is initialised rank 0 reads each file and broadcasts it to one rank of each node, piece by
//   piece,
//      which writes the node's copy and reads it back: its digest must be that of rank 0.
//   2. Every rank opens its node's copy; its name and its directory are removed then, so that nothing is
//   left,
//      however the run ends.
//   3. A rank that opens the file for reading gets the copy, as long as the file is what it was: the same
//   inode,
//      size and time of the last change.
// What it gains: the servers send the file once, not to each node or rank. Where anything fails on any rank,
// the file is read by all, as without it.
#pragma once

#include "base/options.hpp"

#include <climits>

namespace mpiric::inputs {

bool wanted(const Options& options) noexcept;

/// Collective over MPI_COMM_WORLD, all ranks of which have the runtime.
void begin(const Options& options) noexcept;

/// Says, where inputs were to be broadcast and no world has begun, that sessions broadcast none.
void say_why_not_begun(const Options& options) noexcept;

/// What an open for reading is to name: the path itself, or that of the copy, in `to`.
const char* path_for(int directory, const char* path, char (&to)[32]) noexcept;

}  // namespace mpiric::inputs
