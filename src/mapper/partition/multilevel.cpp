#include "partition/partition.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper {
namespace {

// On a coarse level a block may miss its share by half a vertex: finer levels correct the rounding.
std::vector<Weight> level_capacities(const Graph& graph, const std::vector<Weight>& capacities,
                                     bool is_finest) {
    if (is_finest)
        return capacities;
    const double total = static_cast<double>(graph.weight());
    const double room = static_cast<double>(std::accumulate(capacities.begin(), capacities.end(), Weight{0}));
    std::vector<Weight> wider;
    wider.reserve(capacities.size());
    for (const Weight capacity : capacities) {
        const auto share = static_cast<Weight>(total * static_cast<double>(capacity) / std::max(room, 1.0));
        wider.push_back(std::max(capacity, share + (graph.largest_vertex() + 1) / 2));
    }
    return wider;
}

Weight slack_of(const Graph& graph, const std::vector<Weight>& capacities) {
    const Weight room = std::accumulate(capacities.begin(), capacities.end(), Weight{0}) - graph.weight();
    const Weight enough = static_cast<Weight>(capacities.size()) * graph.largest_vertex();
    return room < enough ? graph.largest_vertex() : 0;
}

// Checks whether most of the traffic is cut, as in graphs without locality, which a short search hardly
// improves.
bool is_mostly_cut(const Graph& graph, const Effort& effort, const Partition& partition) {
    if (effort.scans == 0 || effort.scans >= 1)
        return false;
    Weight both_ways = 0;
    for (const Arc& arc : graph.arcs)
        both_ways += arc.weight;
    return cut(graph, partition) > both_ways / 4;
}

// If blocks are full, local search temporarily gets additional room, because moves that need a simultaneous
// exchange are rarely found.
void improve(const Graph& graph, const std::vector<Weight>& capacities, bool is_finest, const Effort& effort,
             Random& random, Partition& partition) {
    const std::vector<Weight> wider = level_capacities(graph, capacities, is_finest);
    const Weight slack = slack_of(graph, wider);
    if (slack > 0 && !is_mostly_cut(graph, effort, partition)) {
        std::vector<Weight> loose;
        loose.reserve(wider.size());
        for (const Weight capacity : wider)
            loose.push_back(capacity + std::max(graph.largest_vertex(), capacity / 50));
        balance(graph, loose, partition);
        refine_cut(graph, loose, 0, effort, random, partition);
    }
    balance(graph, wider, partition);
    refine_cut(graph, wider, slack, effort, random, partition);
}

Partition best_start(const Graph& graph, const std::vector<Weight>& capacities, bool is_finest,
                     const Effort& effort, Random& random) {
    const std::vector<Weight> wider = level_capacities(graph, capacities, is_finest);
    Partition best;
    CutQuality best_quality{};
    for (std::size_t attempt = 0; attempt < std::max<std::size_t>(effort.initial_tries, 1); ++attempt) {
        Partition found = grow_blocks(graph, capacities, effort, random);
        improve(graph, capacities, is_finest, effort, random, found);
        const CutQuality reached = cut_quality(graph, wider, found);
        if (best.empty() || reached < best_quality) {
            best = std::move(found);
            best_quality = reached;
        }
    }
    return best;
}

// Multilevel cycle, from scratch or from a partition; vertices are merged only `within` classes, each of
// which belongs to one block.
Partition cycle(const Graph& graph, const std::vector<Weight>& capacities, const Partition* before,
                const Partition* within, const Effort& effort, Random& random, unsigned threads) {
    const std::size_t target = std::max<std::size_t>(effort.coarsest_per_block * capacities.size(), 40);
    const Weight heaviest = std::max<Weight>(1, graph.weight() * 3 / static_cast<Weight>(2 * target));
    const Levels levels{graph, target, heaviest, within, effort.shrink, random, threads};
    std::size_t level = levels.count() - 1;
    const Graph& coarsest = levels.graph(level);
    Partition partition;
    if (before == nullptr) {
        partition = best_start(coarsest, capacities, level == 0, effort, random);
    } else {
        partition = levels.restrict(*before);
        improve(coarsest, capacities, level == 0, effort, random, partition);
    }
    for (; level > 0; --level) {
        partition = levels.project(level, partition);
        improve(levels.graph(level - 1), capacities, level == 1, effort, random, partition);
    }
    return partition;
}

}  // namespace

CutQuality cut_quality(const Graph& graph, const std::vector<Weight>& capacities,
                       const Partition& partition) {
    return {overload(loads(graph, partition, capacities.size()), capacities), cut(graph, partition)};
}

Partition combine(const Graph& graph, const std::vector<Weight>& capacities, const Partition& better,
                  const Partition& other, const Effort& effort, Random& random) {
    Partition classes(graph.size());
    for (Vertex v = 0; v < graph.size(); ++v)
        classes[v] = static_cast<Block>(better[v] * capacities.size() + other[v]);
    Partition child = cycle(graph, capacities, &better, &classes, effort, random, 1);
    const bool is_worse = cut_quality(graph, capacities, better) < cut_quality(graph, capacities, child);
    return is_worse ? better : child;
}

Partition divide(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                 Random& random, unsigned threads) {
    if (capacities.size() == 1 || graph.size() == 0)
        return Partition(graph.size(), 0);
    Partition best = cycle(graph, capacities, nullptr, nullptr, effort, random, threads);
    if (effort.cycles == 0)
        return best;
    CutQuality best_quality = cut_quality(graph, capacities, best);
    for (std::size_t repeat = 0; repeat < effort.cycles; ++repeat) {
        Partition found = cycle(graph, capacities, &best, &best, effort, random, threads);
        const CutQuality reached = cut_quality(graph, capacities, found);
        if (reached <= best_quality) {
            best = std::move(found);
            best_quality = reached;
        }
    }
    return best;
}

}  // namespace mpiric::mapper
