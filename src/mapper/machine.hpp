// The machine as the engine sees it: slots in a tree, and what a byte costs between two of them.
#pragma once

#include "graph.hpp"

#include <array>
#include <bit>

namespace mpiric::mapper {

// Slots are numbered so that every group of every level is a range of them.
struct Machine {
    std::size_t slots = 0;
    std::vector<std::vector<std::uint32_t>>
        groups;                     // [level][slot], the innermost level first; the last level is one group
    std::vector<Weight> distances;  // between two slots whose innermost common group is of that level
    // Optional: distances between groups of the outermost level but one, row by row, in place of one number:
    // a torus, or costs that were measured.
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

// The way to each slot from the outermost group on, as bits: the highest bit in which those of two slots
// differ tells their innermost common group, so that a distance takes one look at memory for each slot.
class TreePaths {
  public:
    explicit TreePaths(const Machine& machine);

    // Whether 64 bits hold the ways, and distances are those of levels alone.
    [[nodiscard]] bool are_complete() const { return !paths_.empty(); }
    [[nodiscard]] std::uint64_t of(std::size_t slot) const { return paths_[slot]; }
    [[nodiscard]] Weight distance(std::uint64_t a, std::uint64_t b) const {
        return distances_[static_cast<std::size_t>(std::bit_width(a ^ b))];
    }

  private:
    std::vector<std::uint64_t> paths_;    // of the slots
    std::array<Weight, 65> distances_{};  // by the number of bits up to the highest that differs
};

// The links that traffic between two groups of one level takes.
struct Routes {
    std::size_t level = 0;
    std::size_t groups = 0;
    std::vector<Weight> costs;          // of a unit of traffic on each link
    std::vector<std::uint64_t> starts;  // of the route from a to b: a * groups + b
    std::vector<std::uint32_t> links;
    // Cost of a unit of traffic that leaves a group of that level or of one inside: its own link.
    static constexpr Weight own_link = 16;

    [[nodiscard]] std::span<const std::uint32_t> between(std::size_t a, std::size_t b) const {
        return {links.data() + starts[a * groups + b], links.data() + starts[a * groups + b + 1]};
    }
};

// The machine as refinement sees it: blocks are slots, or, where each slot takes one vertex, the innermost
// groups of them, inside which all orders cost the same.
struct Blocks {
    Machine machine;                  // its slots are the blocks
    std::vector<Weight> capacities;   // of the blocks: the most that may lie in them
    Weight inside = 0;                // distance between two vertices of one block
    std::vector<std::size_t> starts;  // the first slot of each block, and their end
    std::size_t levels_inside = 0;    // of the machine given

    [[nodiscard]] std::size_t size() const { return capacities.size(); }
    [[nodiscard]] Weight distance(std::size_t a, std::size_t b) const {
        return a == b ? inside : machine.distance(a, b);
    }
};

Blocks blocks_of_one_each(const Machine& machine);
Blocks blocks_with_capacity(const Machine& machine, Weight capacity);

}  // namespace mpiric::mapper
