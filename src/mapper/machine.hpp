// Machine model of the engine: a tree of slots, and the cost of a byte between two of them.
#pragma once

#include "graph.hpp"

#include <array>
#include <bit>

namespace mpiric::mapper {

// Slots are numbered so that every group of every level is a range.
struct Machine {
    std::size_t slots = 0;
    std::vector<std::vector<std::uint32_t>>
        groups;                     // [level][slot], innermost level first; the last level is one group
    std::vector<Weight> distances;  // distance of slots by the level of their innermost common group
    // Optional distances between groups of the second outermost level, row by row, instead of one number: for
    // a torus or measured costs.
    std::vector<Weight> matrix;

    static Machine uniform(const std::vector<std::size_t>& fan_outs, const std::vector<Weight>& distances);
    [[nodiscard]] Weight distance(std::size_t a, std::size_t b) const {
        if (a == b)
            return 0;
        std::size_t level = 0;
        const std::size_t last = groups.size() - 1;
        while (level < last && groups[level][a] != groups[level][b])
            ++level;
        if (level == last && !matrix.empty())
            return matrix[outermost(a) * outer_count() + outermost(b)];
        return distances[level];
    }
    [[nodiscard]] std::size_t outer_count() const {
        return groups.size() < 2 ? slots : groups[groups.size() - 2].back() + 1U;
    }
    [[nodiscard]] std::size_t outermost(std::size_t slot) const {
        return groups.size() < 2 ? slot : groups[groups.size() - 2][slot];
    }
};

// Path from the outermost group to each slot as bits: the highest bit in which the paths of two slots differ
// identifies their innermost common group, so that a distance needs one memory access per slot.
class TreePaths {
  public:
    explicit TreePaths(const Machine& machine);

    // Checks whether 64 bits hold the paths, and distances depend on levels only.
    [[nodiscard]] bool are_complete() const { return !paths_.empty(); }
    [[nodiscard]] std::uint64_t of(std::size_t slot) const { return paths_[slot]; }
    [[nodiscard]] Weight distance(std::uint64_t a, std::uint64_t b) const {
        return distances_[static_cast<std::size_t>(std::bit_width(a ^ b))];
    }

  private:
    std::vector<std::uint64_t> paths_;    // path of each slot
    std::array<Weight, 65> distances_{};  // distance by the number of bits up to the highest different one
};

// Links used by traffic between two groups of a level.
struct Routes {
    std::size_t level = 0;
    std::size_t groups = 0;
    std::vector<Weight> costs;          // cost of a unit of traffic on each link
    std::vector<std::uint64_t> starts;  // first link of the route from a to b, at a * groups + b
    std::vector<std::uint32_t> links;
    // Cost of a unit of traffic that leaves a group of that level or an inner one by the group's own link.
    static constexpr Weight own_link = 16;

    [[nodiscard]] std::span<const std::uint32_t> between(std::size_t a, std::size_t b) const {
        return {links.data() + starts[a * groups + b], links.data() + starts[a * groups + b + 1]};
    }
};

// Machine model of refinement: blocks are slots, or, if each slot takes one vertex, the innermost groups of
// slots, inside which all orders cost the same.
struct Blocks {
    Machine machine;                  // machine whose slots are the blocks
    std::vector<Weight> capacities;   // largest weight of each block
    Weight inside = 0;                // distance between two vertices in a block
    std::vector<std::size_t> starts;  // first slot of each block, and the end
    std::size_t levels_inside = 0;    // number of levels inside the blocks

    [[nodiscard]] std::size_t size() const { return capacities.size(); }
    [[nodiscard]] Weight distance(std::size_t a, std::size_t b) const {
        return a == b ? inside : machine.distance(a, b);
    }
};

Blocks blocks_of_one_each(const Machine& machine);
Blocks blocks_with_capacity(const Machine& machine, Weight capacity);

}  // namespace mpiric::mapper
