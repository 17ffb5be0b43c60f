// The algorithms that propose an order, each in its own file.
#pragma once

#include "partition/partition.hpp"

namespace mpiric::mapper {

using Slots = std::vector<std::uint32_t>;  // slot of each vertex

struct Grid {
    std::vector<std::size_t> extents;  // slowest first: vertex = (x * extents[1] + y) * extents[2] + z
};

// Recursive multisection: divides the graph among the outermost groups, each part among the groups inside, ….
Partition multisect(const Graph& graph, const Blocks& blocks, const Effort& effort, std::uint64_t seed,
                    unsigned threads);

// Multilevel cycles on a complete mapping: merged vertices stay inside a block, and every level is refined
// for the weighted distances. The result is never worse than `partition`.
void iterate(const Graph& graph, const Blocks& blocks, const Effort& effort, std::uint64_t seed,
             unsigned threads, Partition& partition);

// Lowers the load of the busiest link by exchanging the vertices that use it.
void relieve_links(const Graph& graph, const Blocks& blocks, const Routes& routes, const Effort& effort,
                   std::uint64_t seed, Partition& partition);

// Resource that the vertices of a group share: a NIC, a node's memory bandwidth, its access to the file
// system.
struct Resource {
    std::size_t level = 0;       // level of the groups that share it
    std::vector<Weight> use_of;  // use of each vertex; empty without a resource
};

// Largest use of the resource by a group.
Weight heaviest_use(const Machine& machine, const Resource& resource, const Slots& slot_of);

// Lower bound of the largest use, with a margin that leaves exchanges possible.
Weight fair_use(const Machine& machine, const Resource& resource);

// Exchanges vertices until no group exceeds the fair use; prefers exchanges with the least additional
// distance.
void spread(const Graph& graph, const Machine& machine, const Resource& resource, const Effort& effort,
            std::uint64_t seed, Slots& slot_of);

// Orders that launchers offer, for as many vertices as slots.
struct Classic {
    const char* name;
    Slots slot_of;
};
std::vector<Classic> classics(const Machine& machine);

// Block orders and space-filling curves of a grid. Blocks: each level has the factorisation with the smallest
// surface.
std::vector<Classic> grid_orders(const Grid& grid, const Machine& machine);

// Checks whether all neighbours are at most one step apart in each dimension, or at its two ends.
bool is_grid(const Graph& graph, const std::vector<std::size_t>& extents);

// Extents of the grid that a graph forms in its natural order; empty if it is not a grid.
Grid find_grid(const Graph& graph);

// Grid and row-major position of each vertex; without positions if the graph is not a grid.
struct HiddenGrid {
    Grid grid;
    std::vector<Vertex> position;
};

// Marks the arcs that cross a face, in a graph that may be a grid in which all touching vertices are
// neighbours; empty if it is not.
std::vector<char> grid_faces(const Graph& graph, unsigned threads);

// Finds the grid in a graph of neighbours across faces, or of all touching vertices, with vertices in any
// order.
HiddenGrid find_hidden_grid(const Graph& graph, unsigned threads);

}  // namespace mpiric::mapper
