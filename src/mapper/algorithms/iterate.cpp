// Iterated multilevel refinement (Walshaw 2004) of a whole mapping, with the distances of the machine as its
// objective (as in the integrated mapping of Faraj, van der Grinten, Meyerhenke, Träff and Schulz 2020).
#include "algorithms/algorithms.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper {
namespace {

double cost_of(const Graph& graph, const Blocks& blocks, const Partition& partition) {
    double total = 0;
    for (Vertex v = 0; v < graph.size(); ++v)
        for (const Arc& arc : graph.arcs_of(v))
            total += static_cast<double>(arc.weight * blocks.distance(partition[v], partition[arc.target]));
    return total;
}

Weight slack_of_blocks(const Graph& graph, const Blocks& blocks) {
    const Weight room =
        std::accumulate(blocks.capacities.begin(), blocks.capacities.end(), Weight{0}) - graph.weight();
    return room < static_cast<Weight>(blocks.size()) * graph.largest_vertex() ? graph.largest_vertex() : 0;
}

}  // namespace

void iterate(const Graph& graph, const Blocks& blocks, const Effort& effort, std::uint64_t seed,
             unsigned threads, Partition& partition) {
    if (effort.map_cycles == 0)
        return;
    double best = cost_of(graph, blocks, partition);
    for (std::size_t cycle = 0; cycle < effort.map_cycles && !effort.is_over(); ++cycle) {
        Random random = Random::of(seed, cycle);
        const Weight heaviest = std::max<Weight>(1, graph.weight() / static_cast<Weight>(4 * blocks.size()));
        const Levels levels{graph, 2 * blocks.size(), heaviest, &partition, effort.shrink, random, threads};
        Partition found = levels.restrict(partition);
        for (std::size_t level = levels.count(); level-- > 0;) {
            const Graph& at = levels.graph(level);
            refine_mapping(at, blocks, slack_of_blocks(at, blocks), effort, random, found);
            if (level > 0)
                found = levels.project(level, found);
        }
        const double reached = cost_of(graph, blocks, found);
        if (reached > best)
            continue;
        const bool is_done = reached > best * 0.9995;
        partition = std::move(found);
        best = reached;
        if (is_done)
            break;
    }
}

}  // namespace mpiric::mapper
