// The algorithms that propose an order, each in its own file.
#pragma once

#include "partition/partition.hpp"

namespace mpiric::mapper {

using Slots = std::vector<std::uint32_t>;  // the slot of each vertex

struct Grid {
    std::vector<std::size_t> extents;  // slowest first: vertex = (x * extents[1] + y) * extents[2] + z
};

// Recursive multisection: the graph is divided among the outermost groups, each part among the groups inside,
// …
Partition multisect(const Graph& graph, const Blocks& blocks, const Effort& effort, std::uint64_t seed,
                    unsigned threads);

// Multilevel cycles on a whole mapping: what is merged stays inside a block; every level is refined for the
// weighted distances. Never worse than `partition` was.
void iterate(const Graph& graph, const Blocks& blocks, const Effort& effort, std::uint64_t seed,
             unsigned threads, Partition& partition);

// Lowers the load of the busiest link by exchanges of the vertices behind it.
void relieve_links(const Graph& graph, const Blocks& blocks, const Routes& routes, const Effort& effort,
                   std::uint64_t seed, Partition& partition);

// A resource that the vertices of a group share: a NIC, a node's memory bandwidth, its way to the file
// system.
struct Resource {
    std::size_t level = 0;       // whose groups share it
    std::vector<Weight> use_of;  // each vertex; empty: there is none
};

// The most that a group has to bear of the resource.
Weight heaviest_use(const Machine& machine, const Resource& resource, const Slots& slot_of);

// What the most used group bears at least, with a margin that leaves exchanges possible.
Weight fair_use(const Machine& machine, const Resource& resource);

// Exchanges vertices until no group bears more than the fair use, by those that cost least distance.
void spread(const Graph& graph, const Machine& machine, const Resource& resource, const Effort& effort,
            std::uint64_t seed, Slots& slot_of);

// Orders as launchers know them, for as many vertices as slots.
struct Classic {
    const char* name;
    Slots slot_of;
};
std::vector<Classic> classics(const Machine& machine);

// Block orders and space-filling curves of a grid. Blocks: at every level the factorisation with the smallest
// surface.
std::vector<Classic> grid_orders(const Grid& grid, const Machine& machine);

// Whether all neighbours are at most one step apart in each dimension, or at its two ends.
bool is_grid(const Graph& graph, const std::vector<std::size_t>& extents);

// Extents of the grid that a graph is in its natural order, empty when it is none.
Grid find_grid(const Graph& graph);

// A grid, and where on it each vertex lies: row-major; no position where the graph is none.
struct HiddenGrid {
    Grid grid;
    std::vector<Vertex> position;
};

// Whether each arc crosses a face, in a graph that may be a grid of which all that touch are neighbours;
// empty where it is none.
std::vector<char> grid_faces(const Graph& graph, unsigned threads);

// The grid that a graph of neighbours across faces, or of all that touch, is, whatever the order of its
// vertices.
HiddenGrid find_hidden_grid(const Graph& graph, unsigned threads);

}  // namespace mpiric::mapper
