// Graphs and machines that several tests of the engine use.
#pragma once

#include "solve.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper::testing {

inline Graph graph_of(std::size_t size, const std::vector<std::array<std::size_t, 2>>& edges) {
    std::vector<std::vector<Arc>> rows(size);
    for (const auto& [a, b] : edges) {
        rows[a].push_back({1, static_cast<Vertex>(b)});
        rows[b].push_back({1, static_cast<Vertex>(a)});
    }
    Graph graph;
    graph.vertex_weights.assign(size, 1);
    for (const auto& row : rows) {
        graph.arcs.insert(graph.arcs.end(), row.begin(), row.end());
        graph.offsets.push_back(graph.arcs.size());
    }
    return graph;
}

// Neighbours along each dimension of a grid; vertex v is called names[v] when there are names.
inline Graph grid(const std::vector<std::size_t>& extents, bool is_periodic,
                  const std::vector<std::size_t>& names = {}) {
    std::size_t size = 1;
    for (const std::size_t extent : extents)
        size *= extent;
    std::vector<std::array<std::size_t, 2>> edges;
    const auto name = [&](std::size_t v) { return names.empty() ? v : names[v]; };
    std::size_t stride = size;
    for (const std::size_t extent : extents) {
        stride /= extent;
        for (std::size_t v = 0; v < size; ++v) {
            const std::size_t at = v / stride % extent;
            if (at + 1 < extent)
                edges.push_back({name(v), name(v + stride)});
            else if (is_periodic)
                edges.push_back({name(v), name(v - at * stride)});
        }
    }
    return graph_of(size, edges);
}

inline std::vector<std::size_t> shuffled(std::size_t size) {
    std::vector<std::size_t> names(size);
    std::iota(names.begin(), names.end(), std::size_t{0});
    Random random{3};
    random.shuffle(names);
    return names;
}

inline Problem problem(Graph graph, const Machine& machine, Weight capacity) {
    Problem made{std::move(graph), machine, capacity, {}, {}, {}, {}};
    for (std::size_t v = 0; v < made.graph.size(); ++v)
        made.given.push_back(static_cast<std::uint32_t>(v * machine.slots / made.graph.size()));
    return made;
}

inline bool is_permutation(Slots slot_of) {
    std::sort(slot_of.begin(), slot_of.end());
    for (std::size_t i = 0; i < slot_of.size(); ++i)
        if (slot_of[i] != i)
            return false;
    return true;
}

}  // namespace mpiric::mapper::testing
