// An undirected graph with weights, as compressed rows: each edge stands in the rows of both its ends.
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
using Partition = std::vector<Block>;  // the block of each vertex

struct Arc {
    Weight weight;
    Vertex target;
};

struct Graph {
    std::vector<std::size_t> offsets{0};  // of each vertex's arcs, and their end
    std::vector<Arc> arcs;
    std::vector<Weight> vertex_weights;

    [[nodiscard]] std::size_t size() const { return vertex_weights.size(); }
    [[nodiscard]] std::span<const Arc> arcs_of(Vertex v) const {
        return {arcs.data() + offsets[v], arcs.data() + offsets[v + 1]};
    }
    [[nodiscard]] Weight weight() const;
    [[nodiscard]] Weight largest_vertex() const;
};

// The graph whose vertices are the clusters 0 … count-1; parallel edges are added up, inner ones left out.
Graph contract(const Graph& graph, const std::vector<Vertex>& cluster_of, std::size_t count,
               unsigned threads);

// A part of a graph, and the numbers its vertices have in the whole.
struct Piece {
    Graph graph;
    std::vector<Vertex> vertices;
};

// The subgraphs that the blocks 0 … blocks-1 induce.
std::vector<Piece> split(const Graph& graph, const Partition& partition, std::size_t blocks);

// Weights of the blocks.
std::vector<Weight> loads(const Graph& graph, const Partition& partition, std::size_t blocks);

// Weight of the edges between different blocks, each counted once.
Weight cut(const Graph& graph, const Partition& partition);

}  // namespace mpiric::mapper
