#include "graph.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

namespace mpiric::mapper {
namespace {

struct Rows {
    std::vector<std::size_t> degrees;
    std::vector<Arc> arcs;
};

// Rows of consecutive clusters with consecutive members; `room` arcs are reserved.
Rows contracted_rows(const Graph& graph, const std::vector<Vertex>& cluster_of,
                     const std::vector<std::size_t>& starts, const std::vector<Vertex>& members,
                     std::size_t first, std::size_t last, std::size_t room) {
    constexpr std::size_t nowhere = ~std::size_t{0};
    Rows rows;
    rows.arcs.reserve(room);
    rows.degrees.reserve(last - first);
    std::vector<std::size_t> position(starts.size() - 1, nowhere);
    for (std::size_t cluster = first; cluster < last; ++cluster) {
        const std::size_t begin = rows.arcs.size();
        for (std::size_t i = starts[cluster]; i < starts[cluster + 1]; ++i)
            for (const Arc& arc : graph.arcs_of(members[i])) {
                const Vertex other = cluster_of[arc.target];
                if (other == cluster)
                    continue;
                if (position[other] == nowhere || position[other] < begin) {
                    position[other] = rows.arcs.size();
                    rows.arcs.push_back({arc.weight, other});
                } else {
                    rows.arcs[position[other]].weight += arc.weight;
                }
            }
        rows.degrees.push_back(rows.arcs.size() - begin);
    }
    return rows;
}

}  // namespace

Weight Graph::weight() const {
    return std::accumulate(vertex_weights.begin(), vertex_weights.end(), Weight{0});
}

Weight Graph::largest_vertex() const {
    return vertex_weights.empty() ? 0 : *std::max_element(vertex_weights.begin(), vertex_weights.end());
}

Graph contract(const Graph& graph, const std::vector<Vertex>& cluster_of, std::size_t count,
               unsigned threads) {
    std::vector<std::size_t> starts(count + 1, 0);
    Graph coarse;
    coarse.vertex_weights.assign(count, 0);
    for (Vertex v = 0; v < graph.size(); ++v) {
        ++starts[cluster_of[v] + 1];
        coarse.vertex_weights[cluster_of[v]] += graph.vertex_weights[v];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<Vertex> members(graph.size());
    std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
    for (Vertex v = 0; v < graph.size(); ++v)
        members[next[cluster_of[v]]++] = v;

    const std::size_t parts = count < 20'000 ? 1 : std::max(threads, 1U);
    std::vector<Rows> rows(parts);
    const auto make = [&](std::size_t part) {
        // The rows of the other threads follow the rows of the first one; their share of the arcs is an
        // estimate.
        const std::size_t room = part == 0 ? graph.arcs.size() : graph.arcs.size() / parts;
        rows[part] = contracted_rows(graph, cluster_of, starts, members, count * part / parts,
                                     count * (part + 1) / parts, room);
    };
    std::vector<std::jthread> workers;
    workers.reserve(parts);
    for (std::size_t part = 1; part < parts; ++part)
        workers.emplace_back(make, part);
    make(0);
    workers.clear();  // joins the threads

    coarse.offsets.reserve(count + 1);
    for (Rows& part : rows) {
        for (const std::size_t degree : part.degrees)
            coarse.offsets.push_back(coarse.offsets.back() + degree);
        if (coarse.arcs.empty())
            coarse.arcs = std::move(part.arcs);
        else
            coarse.arcs.insert(coarse.arcs.end(), part.arcs.begin(), part.arcs.end());
    }
    return coarse;
}

std::vector<Piece> split(const Graph& graph, const Partition& partition, std::size_t blocks) {
    std::vector<Piece> pieces(blocks);
    std::vector<Vertex> number(graph.size());
    std::vector<std::size_t> degrees(blocks, 0);
    for (Vertex v = 0; v < graph.size(); ++v)
        degrees[partition[v]] += graph.arcs_of(v).size();
    for (std::size_t block = 0; block < blocks; ++block)
        pieces[block].graph.arcs.reserve(degrees[block]);
    for (Vertex v = 0; v < graph.size(); ++v) {
        Piece& piece = pieces[partition[v]];
        number[v] = static_cast<Vertex>(piece.vertices.size());
        piece.vertices.push_back(v);
        piece.graph.vertex_weights.push_back(graph.vertex_weights[v]);
    }
    for (Vertex v = 0; v < graph.size(); ++v) {
        Graph& part = pieces[partition[v]].graph;
        for (const Arc& arc : graph.arcs_of(v))
            if (partition[arc.target] == partition[v])
                part.arcs.push_back({arc.weight, number[arc.target]});
        part.offsets.push_back(part.arcs.size());
    }
    return pieces;
}

std::vector<Weight> loads(const Graph& graph, const Partition& partition, std::size_t blocks) {
    std::vector<Weight> found(blocks, 0);
    for (Vertex v = 0; v < graph.size(); ++v)
        found[partition[v]] += graph.vertex_weights[v];
    return found;
}

Weight cut(const Graph& graph, const Partition& partition) {
    Weight both_ways = 0;
    for (Vertex v = 0; v < graph.size(); ++v)
        for (const Arc& arc : graph.arcs_of(v))
            both_ways += partition[arc.target] != partition[v] ? arc.weight : 0;
    return both_ways / 2;
}

}  // namespace mpiric::mapper
