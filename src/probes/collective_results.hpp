// Whether a collective does what it is for: data of which every rank knows what must come of it.
#pragma once

#include "collective_calls.hpp"

#include <cstddef>
#include <vector>

namespace mpiric::probes {

// What a rank gives and gets: `given` and `taken` blocks of `count` floats where sums are made, else of
// bytes.
struct Buffers {
    std::vector<unsigned char> in;
    std::vector<unsigned char> out;
};

// Small whole numbers in both, so that sums are exact in whatever order they are made.
void fill(Buffers& buffers, const Collective& collective, int count, int root, MPI_Comm comm);

// Whether a call with this root left in them what it must.
bool is_right(const Buffers& buffers, const Collective& collective, int count, int root, MPI_Comm comm);

}  // namespace mpiric::probes
