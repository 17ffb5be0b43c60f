// The mapping engine, asked by a running program: a graph and nodes go in as a file, slots come out as one.
// Without MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpiric::order {

/// One direction of the traffic between two vertices.
struct Arc {
    int32_t from, to;
    int64_t weight;
};

struct Placed {
    std::vector<int32_t> slots;  ///< slot of each vertex
    std::string problem;         ///< why there are none
};

/// Has the program at `engine` place as many vertices as there are slots; the slots of a node are
/// consecutive, and `given` is the current slot of each vertex. Traffic within a node costs a tenth of
/// traffic between nodes.
Placed place(const char* engine, std::vector<Arc> arcs, const std::vector<int32_t>& node_of_slot,
             const std::vector<int32_t>& given) noexcept;

}  // namespace mpiric::order
