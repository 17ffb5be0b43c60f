// Correctness of collectives, tested with data whose result every rank can compute.
#pragma once

#include "collective_calls.hpp"

#include <cstddef>
#include <vector>

namespace mpiric::probes {

// Input and output of a rank: `given` and `taken` blocks of `count` floats for reductions, of bytes for other
// collectives.
struct Buffers {
    std::vector<unsigned char> in;
    std::vector<unsigned char> out;
};

// Fills both buffers with small integers, so that sums are exact in any order.
void fill(Buffers& buffers, const Collective& collective, int count, int root, MPI_Comm comm);

// Returns whether a call with this root left the correct result in the buffers.
bool is_right(const Buffers& buffers, const Collective& collective, int count, int root, MPI_Comm comm);

}  // namespace mpiric::probes
