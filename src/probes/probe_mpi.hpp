// Questions that probe-mpi can answer. All ranks call each function, which prints JSON lines on rank 0 only
// and returns the exit status of the program, equal on all ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mpiric::probes {

// One line per rank, in rank order: library, standard, thread level, host, hardware threads.
int print_identity(int thread_level);

// One line per rank, in rank order: CPUs on which it may run, and on which it runs.
int print_affinity();

// One line per size: messages between rank 0 and the last rank.
int print_pingpong(const std::vector<std::size_t>& sizes_bytes);

// Lines of five kinds: "rank" is the location of a rank, "pair" a size and class of pairs, "moved" the
// devices that a class used, "network" plain TCP over a network between two nodes, "copy" the speed of
// memory.
int print_fabric(const std::vector<std::size_t>& sizes_bytes);

// One line per rank, in rank order, for one rank on each node: arithmetic, memory and messages, each measured
// in several passes on all nodes at once, and the first characters of files.
int print_nodes(int passes, const std::vector<std::string>& paths);

// Prints the lines of all ranks in rank order; launchers interleave lines that ranks print themselves.
int print_in_order(const std::string& line);

// Name and version of the library that serves MPI calls.
std::string library_version();

}  // namespace mpiric::probes
