// The file that holds one problem: numbers in the byte order of the machine, written by
// mpiric/mapping/engine.py.
//
//   "MPIRMAP2"; 12 numbers of 64 bits: vertices, arcs, slots, levels, outermost groups with a matrix (0:
//   none), dimensions of the grid (0: unknown), most that may lie in a slot (0: one vertex a slot), links of
//   the network (0: unknown), level whose groups the links join, entries of all routes, whether vertices use
//   a resource (0, 1), level whose groups share it offsets (64 bits each, vertices + 1), targets (32 bits
//   each, padded to 64), weights (64), vertex weights (64), distances (64 each, a level), groups (32 bits
//   each, slots a level, padded to 64), matrix (64), grid extents (64), the order given (32 bits each,
//   vertices, padded to 64) of links: costs (64 each), where the route from a group to another begins (64,
//   groups squared + 1), links of the routes (32, padded to 64); of the resource: what each vertex uses (64)
#pragma once

#include "algorithms/algorithms.hpp"

#include <stdexcept>
#include <string>

namespace mpiric::mapper {

struct Problem {
    Graph graph;
    Machine machine;
    Weight capacity = 0;  // 0: one vertex a slot
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
