// The questions probe-mpi can ask. Each is called by every rank, prints JSON lines on rank 0 only and
// returns the program's exit status, the same on every rank.
#pragma once

#include <cstddef>
#include <vector>

namespace mpiric::probes {

// One line a rank, in rank order: library, standard, thread level, host, hardware threads.
int print_identity(int thread_level);

// One line a rank, in rank order: where it may run and where it runs.
int print_affinity();

// One line a size: messages between rank 0 and the last rank.
int print_pingpong(const std::vector<std::size_t>& sizes_bytes);

// Lines of five kinds: "rank" where each sits, "pair" a line a size and class of pairs, "moved" what each
// class used, "network" plain TCP over each network between two nodes, "copy" the memory's own speed.
int print_fabric(const std::vector<std::size_t>& sizes_bytes);

}  // namespace mpiric::probes
