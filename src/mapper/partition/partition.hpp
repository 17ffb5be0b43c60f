// Multilevel partitioning: coarsen, divide the smallest graph, refine on the way back (Hendrickson, Leland
// 1995; Karypis, Kumar 1998; Sanders, Schulz 2011).
#pragma once

#include "machine.hpp"
#include "random.hpp"

#include <chrono>
#include <compare>

namespace mpiric::mapper {

// Effort of each step.
struct Effort {
    std::size_t coarsest_per_block = 30;  // vertices per block at which coarsening ends
    std::size_t initial_tries = 2;        // divisions of the coarsest graph, of which the best is kept
    std::size_t fruitless_moves = 20;     // moves without a new best after which a local search ends
    std::size_t rounds = 2;               // largest number of local-search rounds per level
    double scans = 0;                     // limit of arcs per sweep, relative to all arcs; 0: no limit
    std::size_t cycles = 0;               // additional multilevel cycles that start from the result
    std::size_t repeats = 1;              // independent divisions of each group
    std::size_t combines = 0;             // combinations of two divisions
    std::size_t map_cycles = 0;           // cycles on the complete mapping
    double shrink = 2.5;                  // ratio of the vertices of consecutive levels
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

    // Checks whether optional steps are skipped.
    [[nodiscard]] bool is_over() const {
        return deadline != std::chrono::steady_clock::time_point::max() &&
               std::chrono::steady_clock::now() >= deadline;
    }
};

// Merges vertices: heavy edges between light clusters first, up to the weight `heaviest`, until `target`
// clusters remain; with `within`, only inside its blocks. Returns the number of clusters.
std::size_t cluster(const Graph& graph, Weight heaviest, std::size_t target, const Partition* within,
                    Random& random, std::vector<Vertex>& cluster_of);

// Divides a small graph by recursive bisection: greedy graph growing (Karypis, Kumar 1998), then refinement.
Partition grow_blocks(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                      Random& random);

// Moves vertices from blocks above their capacity towards blocks with room, along the cheapest chain of
// blocks.
void balance(const Graph& graph, const std::vector<Weight>& capacities, Partition& partition);

// Lowers the cut by local search; a block may exceed its capacity by `slack` between two moves, but not at
// the end.
void refine_cut(const Graph& graph, const std::vector<Weight>& capacities, Weight slack, const Effort& effort,
                Random& random, Partition& partition);

// Lowers the weighted distances between blocks in the same way.
void refine_mapping(const Graph& graph, const Blocks& blocks, Weight slack, const Effort& effort,
                    Random& random, Partition& partition);

// Divides a graph; blocks stay within their capacities if the weights of the vertices allow it.
Partition divide(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                 Random& random, unsigned threads);

// Division at least as good as `better`, by a cycle that merges only vertices that are together in both
// (Sanders, Schulz 2012).
Partition combine(const Graph& graph, const std::vector<Weight>& capacities, const Partition& better,
                  const Partition& other, const Effort& effort, Random& random);

// Best of several divisions and of their combinations.
Partition evolve(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                 std::uint64_t seed, unsigned threads);

// Lower is better.
struct CutQuality {
    Weight above;  // weight above the capacities
    Weight cut;
    auto operator<=>(const CutQuality&) const = default;
};
CutQuality cut_quality(const Graph& graph, const std::vector<Weight>& capacities, const Partition& partition);

// Weight above the capacities.
Weight overload(const std::vector<Weight>& loads, const std::vector<Weight>& capacities);

// Hierarchy of the graph and its coarser versions; `finest` outlives it.
class Levels {
  public:
    Levels(const Graph& finest, std::size_t target, Weight heaviest, const Partition* within, double shrink,
           Random& random, unsigned threads);
    [[nodiscard]] std::size_t count() const { return coarse_.size() + 1; }
    [[nodiscard]] const Graph& graph(std::size_t level) const {
        return level == 0 ? *finest_ : coarse_[level - 1];
    }
    // Projects a partition to the next finer level.
    [[nodiscard]] Partition project(std::size_t level, const Partition& partition) const;
    // Projects a partition of the finest graph to the coarsest, whose vertices are each inside one block.
    [[nodiscard]] Partition restrict(Partition partition) const;

  private:
    const Graph* finest_;
    std::vector<Graph> coarse_;
    std::vector<std::vector<Vertex>> cluster_of_;
};

}  // namespace mpiric::mapper
