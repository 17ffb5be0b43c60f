#include "partition/partition.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

namespace mpiric::mapper {
namespace {

struct Candidate {
    Weight gain;
    Vertex vertex;
    bool operator<(const Candidate& other) const {
        return gain != other.gain ? gain < other.gain : vertex > other.vertex;
    }
};

// Grows block 0 from a random vertex by the vertex with the smallest addition to the cut, up to its share.
Partition grow_half(const Graph& graph, Weight wanted, Random& random) {
    Partition half(graph.size(), 1);
    std::vector<Weight> gains(graph.size());
    for (Vertex v = 0; v < graph.size(); ++v)
        for (const Arc& arc : graph.arcs_of(v))
            gains[v] -= arc.weight;
    std::priority_queue<Candidate> queue;
    std::vector<Vertex> seeds(graph.size());
    std::iota(seeds.begin(), seeds.end(), Vertex{0});
    random.shuffle(seeds);
    Weight grown = 0;
    for (std::size_t next_seed = 0; grown < wanted;) {
        if (queue.empty()) {
            while (next_seed < seeds.size() && half[seeds[next_seed]] == 0)
                ++next_seed;
            if (next_seed == seeds.size())
                break;
            queue.push({gains[seeds[next_seed]], seeds[next_seed]});
        }
        const auto [gain, v] = queue.top();
        queue.pop();
        if (half[v] == 0 || gains[v] != gain)
            continue;
        if (grown > 0 && grown + graph.vertex_weights[v] / 2 > wanted)
            break;
        half[v] = 0;
        grown += graph.vertex_weights[v];
        for (const Arc& arc : graph.arcs_of(v))
            if (half[arc.target] == 1) {
                gains[arc.target] += 2 * arc.weight;
                queue.push({gains[arc.target], arc.target});
            }
    }
    return half;
}

// Divides the weight in proportion to the capacities, with room for one more vertex.
std::vector<Weight> two_capacities(const Graph& graph, Weight first, Weight second) {
    const Weight total = graph.weight();
    const auto share = static_cast<Weight>(static_cast<double>(total) * static_cast<double>(first) /
                                           static_cast<double>(std::max<Weight>(first + second, 1)));
    const Weight room = (graph.largest_vertex() + 1) / 2;
    return {std::min(std::max(share, first - (first + second - total) / 2), first) + room,
            std::min(std::max(total - share, second - (first + second - total) / 2), second) + room};
}

Partition bisect(const Graph& graph, Weight first, Weight second, const Effort& effort, Random& random) {
    const std::vector<Weight> capacities = two_capacities(graph, first, second);
    const auto wanted = static_cast<Weight>(static_cast<double>(graph.weight()) * static_cast<double>(first) /
                                            static_cast<double>(std::max<Weight>(first + second, 1)));
    Partition best;
    Weight best_cut = 0;
    Weight best_above = 0;
    for (std::size_t attempt = 0; attempt < effort.initial_tries; ++attempt) {
        Partition half = grow_half(graph, wanted, random);
        refine_cut(graph, capacities, graph.largest_vertex(), effort, random, half);
        const Weight above = overload(loads(graph, half, 2), capacities);
        const Weight found = cut(graph, half);
        if (best.empty() || above < best_above || (above == best_above && found < best_cut)) {
            best = std::move(half);
            best_cut = found;
            best_above = above;
        }
    }
    return best;
}

void grow_into(const Graph& graph, const std::vector<Vertex>& vertices, const std::vector<Weight>& capacities,
               std::size_t first, std::size_t last, const Effort& effort, Random& random,
               Partition& partition) {
    if (last - first == 1) {
        for (const Vertex v : vertices)
            partition[v] = static_cast<Block>(first);
        return;
    }
    const std::size_t middle = first + (last - first) / 2;
    const auto at = [&](std::size_t i) { return capacities.begin() + static_cast<std::ptrdiff_t>(i); };
    const Weight one = std::accumulate(at(first), at(middle), Weight{0});
    const Weight other = std::accumulate(at(middle), at(last), Weight{0});
    const std::vector<Piece> halves = split(graph, bisect(graph, one, other, effort, random), 2);
    for (std::size_t side = 0; side < 2; ++side) {
        std::vector<Vertex> inside;
        inside.reserve(halves[side].vertices.size());
        for (const Vertex v : halves[side].vertices)
            inside.push_back(vertices[v]);
        grow_into(halves[side].graph, inside, capacities, side == 0 ? first : middle,
                  side == 0 ? middle : last, effort, random, partition);
    }
}

}  // namespace

Partition grow_blocks(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                      Random& random) {
    Partition partition(graph.size(), 0);
    std::vector<Vertex> all(graph.size());
    std::iota(all.begin(), all.end(), Vertex{0});
    grow_into(graph, all, capacities, 0, capacities.size(), effort, random, partition);
    return partition;
}

}  // namespace mpiric::mapper
