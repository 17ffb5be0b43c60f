// File of a problem: numbers in the byte order of the machine, written by mpiric/mapping/engine.py.
//
//   "MPIRMAP2"; 12 numbers of 64 bits: vertices, arcs, slots, levels, outermost groups with a matrix (0:
//   none), dimensions of the grid (0: unknown), largest weight of a slot (0: one vertex per slot), links of
//   the network (0: unknown), level of the groups that links join, entries of all routes, flag of a resource
//   (0, 1), level of the groups that share it; offsets (64 bits each, vertices + 1), targets (32 bits each,
//   padded to 64), weights (64), vertex weights (64), distances (64 each, one per level), groups (32 bits
//   each, slots per level, padded to 64), matrix (64), grid extents (64), initial order (32 bits each,
//   vertices, padded to 64); of links: costs (64 each), first link of the route between two groups (64,
//   groups squared + 1), links of the routes (32, padded to 64); of the resource: use of each vertex (64)
#pragma once

#include "algorithms/algorithms.hpp"

#include <stdexcept>
#include <string>

namespace mpiric::mapper {

struct Problem {
    Graph graph;
    Machine machine;
    Weight capacity = 0;  // 0: one vertex per slot
    Grid grid;
    Slots given;
    Routes routes;
    Resource resource;
};

class ProblemError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

Problem read_problem(const std::string& path);
void write_order(const std::string& path, const Slots& slot_of);

}  // namespace mpiric::mapper
