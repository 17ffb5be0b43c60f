// Undirected weighted graph in compressed rows: each edge is in the rows of both its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mpiric::mapper {

using Vertex = std::uint32_t;
inline constexpr Vertex no_vertex = ~Vertex{0};
using Block = std::uint32_t;
using Weight = std::int64_t;
using Partition = std::vector<Block>;  // block of each vertex

struct Arc {
    Weight weight;
    Vertex target;
};

struct Graph {
    std::vector<std::size_t> offsets{0};  // first arc of each vertex, and the end
    std::vector<Arc> arcs;
    std::vector<Weight> vertex_weights;

    [[nodiscard]] std::size_t size() const { return vertex_weights.size(); }
    [[nodiscard]] std::span<const Arc> arcs_of(Vertex v) const {
        return {arcs.data() + offsets[v], arcs.data() + offsets[v + 1]};
    }
    [[nodiscard]] Weight weight() const;
    [[nodiscard]] Weight largest_vertex() const;
};

// Graph whose vertices are the clusters 0 … count-1; parallel edges are added up, inner ones are omitted.
Graph contract(const Graph& graph, const std::vector<Vertex>& cluster_of, std::size_t count,
               unsigned threads);

// Part of a graph, and the numbers of its vertices in the complete graph.
struct Piece {
    Graph graph;
    std::vector<Vertex> vertices;
};

// Subgraphs induced by the blocks 0 … blocks-1.
std::vector<Piece> split(const Graph& graph, const Partition& partition, std::size_t blocks);

// Weights of the blocks.
std::vector<Weight> loads(const Graph& graph, const Partition& partition, std::size_t blocks);

// Weight of the edges between different blocks; each edge counts once.
Weight cut(const Graph& graph, const Partition& partition);

}  // namespace mpiric::mapper
