// Scatter: stages of the algorithms of this folder and of those that end with one.
#pragma once

#include "coll/blocks.hpp"
#include "coll/buffers.hpp"

namespace mpiric::coll {

/// Over the ranks of this node, through the board: local rank r gets block r of `row`, in bytes, which only
/// local rank `root` has, into `own`.
int shared_scatter(const Team& team, int root, const char* row, char* own, const Blocks& blocks) noexcept;

}  // namespace mpiric::coll
