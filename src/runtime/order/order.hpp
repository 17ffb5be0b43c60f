// An order of ranks, as a file lists it: line r holds the slot of rank r. Without MPI.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mpiric::order {

/// Slots by rank, and why there are none.
struct SlotOrder {
    std::vector<int32_t> slots;
    std::string problem;  ///< empty: `slots` is a permutation

    bool is_valid() const noexcept { return problem.empty(); }
};

/// Reads one slot per line; blank lines and text after a `#` are ignored. Never throws: if the slots are not
/// a permutation of 0…size-1, `problem` says why and in which line.
SlotOrder read_order(const char* path, int32_t size) noexcept;

/// The rank that sits in each slot.
std::vector<int32_t> ranks_by_slot(std::span<const int32_t> slots);

// The mapping engine, asked by a running program: a graph and nodes go in as a file, slots come out.

/// One direction of the traffic between two vertices.
struct Arc {
    int32_t from, to;
    int64_t weight;
};

/// The slot of each vertex: has the program at `engine` place as many vertices as there are slots; the slots
/// of a node are consecutive, and `given` is the current slot of each vertex. Traffic inside nodes costs a
/// tenth.
SlotOrder place(const char* engine, std::vector<Arc> arcs, const std::vector<int32_t>& node_of_slot,
                const std::vector<int32_t>& given) noexcept;

}  // namespace mpiric::order
