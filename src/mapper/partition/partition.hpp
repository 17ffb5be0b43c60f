// Multilevel partitioning: coarsen, divide the smallest graph, refine on the way back (Hendrickson, Leland
// 1995; Karypis, Kumar 1998; Sanders, Schulz 2011).
#pragma once

#include "machine.hpp"
#include "random.hpp"

#include <chrono>
#include <compare>

namespace mpiric::mapper {

// How much effort each step takes.
struct Effort {
    std::size_t coarsest_per_block = 30;  // coarsening ends at so many vertices a block
    std::size_t initial_tries = 2;        // divisions of the coarsest graph, the best is kept
    std::size_t fruitless_moves = 20;     // a local search ends after so many without a new best
    std::size_t rounds = 2;               // of local search on one level, at most
    double scans = 0;                     // of all arcs in a sweep of local search, at most; 0: no limit
    std::size_t cycles = 0;               // further multilevel cycles that start from what was found
    std::size_t repeats = 1;              // divisions of each group, made independently
    std::size_t combines = 0;             // of two of them into a further one
    std::size_t map_cycles = 0;           // cycles on the whole mapping
    double shrink = 2.5;                  // a level has this many times fewer vertices than the one below
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

    // Whether what can be left undone is to be left.
    [[nodiscard]] bool is_over() const {
        return deadline != std::chrono::steady_clock::time_point::max() &&
               std::chrono::steady_clock::now() >= deadline;
    }
};

// Which vertices are merged: heavy edges between light clusters first, none heavier than `heaviest`, until
// `target` clusters remain; with `within`, only inside its blocks. Returns their number.
std::size_t cluster(const Graph& graph, Weight heaviest, std::size_t target, const Partition* within,
                    Random& random, std::vector<Vertex>& cluster_of);

// Divides a small graph by recursive bisection: greedy graph growing (Karypis, Kumar 1998), then refinement.
Partition grow_blocks(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                      Random& random);

// Moves vertices from blocks above their capacity towards blocks with room, along the cheapest chain of
// blocks.
void balance(const Graph& graph, const std::vector<Weight>& capacities, Partition& partition);

// Lowers the cut by local search; a block may be above its capacity by `slack` between two moves, not at the
// end.
void refine_cut(const Graph& graph, const std::vector<Weight>& capacities, Weight slack, const Effort& effort,
                Random& random, Partition& partition);

// Lowers the weighted distances between blocks likewise.
void refine_mapping(const Graph& graph, const Blocks& blocks, Weight slack, const Effort& effort,
                    Random& random, Partition& partition);

// Divides a graph; blocks end within their capacities wherever the weights of the vertices allow that.
Partition divide(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                 Random& random, unsigned threads);

// A division at least as good as `better`, by a cycle that merges only what lies together in both (Sanders,
// Schulz 2012).
Partition combine(const Graph& graph, const std::vector<Weight>& capacities, const Partition& better,
                  const Partition& other, const Effort& effort, Random& random);

// The best of several divisions and of their combinations.
Partition evolve(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                 std::uint64_t seed, unsigned threads);

// Lower is better.
struct CutQuality {
    Weight above;  // the capacities
    Weight cut;
    auto operator<=>(const CutQuality&) const = default;
};
CutQuality cut_quality(const Graph& graph, const std::vector<Weight>& capacities, const Partition& partition);

// Weight above the capacities.
Weight overload(const std::vector<Weight>& loads, const std::vector<Weight>& capacities);

// The graph and what was merged into it, level by level; `finest` outlives it.
class Levels {
  public:
    Levels(const Graph& finest, std::size_t target, Weight heaviest, const Partition* within, double shrink,
           Random& random, unsigned threads);
    [[nodiscard]] std::size_t count() const { return coarse_.size() + 1; }
    [[nodiscard]] const Graph& graph(std::size_t level) const {
        return level == 0 ? *finest_ : coarse_[level - 1];
    }
    // The same partition one level finer.
    [[nodiscard]] Partition project(std::size_t level, const Partition& partition) const;
    // A partition of the finest graph on the coarsest, whose vertices each lie in one block of it.
    [[nodiscard]] Partition restrict(Partition partition) const;

  private:
    const Graph* finest_;
    std::vector<Graph> coarse_;
    std::vector<std::vector<Vertex>> cluster_of_;
};

}  // namespace mpiric::mapper
