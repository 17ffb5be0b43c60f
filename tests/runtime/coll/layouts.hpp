// Layouts that the grid gives its ranks: who shares a node, and where on it each sits.
#pragma once

#include "comparison.hpp"

namespace grid {

inline int in_pairs(MPI_Comm comm, int rank, MPI_Comm* node) {
    return MPI_Comm_split(comm, rank / 2, rank, node);
}
inline int in_turns(MPI_Comm comm, int rank, MPI_Comm* node) {
    return MPI_Comm_split(comm, rank % 2, rank, node);
}
inline int in_thirds(MPI_Comm comm, int rank, MPI_Comm* node) {
    return MPI_Comm_split(comm, rank * 3 / size, rank, node);
}
inline int in_fours(MPI_Comm comm, int rank, MPI_Comm* node) {
    return MPI_Comm_split(comm, rank / 4, rank, node);
}
inline int in_halves(MPI_Comm comm, int rank, MPI_Comm* node) {
    return MPI_Comm_split(comm, rank >= size / 2, rank, node);
}
inline int unevenly(MPI_Comm comm, int rank, MPI_Comm* node) {
    return MPI_Comm_split(comm, rank == 0 ? 0 : 1 + rank / 4, rank, node);
}

inline Seat unknown(int) { return {}; }
/// Two packages of two domains, one after another.
inline Seat filled(int rank) { return {rank * 4 / size, rank * 2 / size}; }
/// The same on each of two nodes.
inline Seat filled_halves(int rank) {
    const int half = size / 2, first = rank < half ? 0 : half, ranks = rank < half ? half : size - half;
    return {(rank - first) * 4 / ranks, (rank - first) * 2 / ranks};
}
/// The same with the ranks dealt out.
inline Seat dealt(int rank) { return {rank % 4, rank % 2}; }
/// The first of four alone.
inline Seat one_and_three(int rank) { return {rank % 4 > 0, 0}; }

struct Arrangement {
    const char* name;
    NodeSplit split;
    Seat (*seat)(int rank);
    Serving serving;
};

inline constexpr Arrangement layouts[] = {
    {"one node", split_by_memory, unknown, Serving::all},
    {"pairs", in_pairs, unknown, Serving::all},
    {"turns", in_turns, unknown, Serving::all},
    {"thirds", in_thirds, unknown, Serving::all},
    {"uneven", unevenly, unknown, Serving::all},
    {"domains", split_by_memory, filled, Serving::all},
    {"dealt domains", split_by_memory, dealt, Serving::by_levels},
    {"two nodes of domains", in_halves, filled_halves, Serving::by_levels},
    {"nodes of uneven domains", in_fours, one_and_three, Serving::by_levels}};

}  // namespace grid
