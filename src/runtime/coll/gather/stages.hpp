// Gather: stages of the algorithms of this folder and of those that end with one.
#pragma once

#include "coll/blocks.hpp"
#include "coll/buffers.hpp"

namespace mpiric::coll {

/// Over the ranks of this node, through the board: local rank `root` gets block r of `data`, in bytes, from
/// local rank r.
int shared_gather(const Team& team, int root, char* data, const Blocks& blocks) noexcept;

}  // namespace mpiric::coll
