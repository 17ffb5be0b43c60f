// Finds the edges across faces if vertices on a grid communicate with all touching ones (9 points in two
// dimensions, 27 in three): such a graph is a strong product of lines and rings, and these edges are its
// Cartesian skeleton (Hammack, Imrich 2009). Let c(u, v) be the number of vertices that both u and v are or
// touch, and n(w) the number that w is or touches: c(u, v)^2 / (n(u) n(v)) is a product over the dimensions
// in which u and v differ. So for an edge across several dimensions there is a vertex w on the way with
// c(u, w) c(w, v) = c(u, v) n(w); for an edge across a face there is not. O(degree) per edge.
#include "algorithms/algorithms.hpp"
#include "parallel.hpp"

#include <algorithm>

namespace mpiric::mapper {
namespace {

constexpr std::size_t most_degree = 80;  // 3^4 - 1

class Faces {
  public:
    explicit Faces(const Graph& graph) : graph_{graph} {}

    // All touching vertices: 8, 26 or 80, if no side of the grid is shorter than three.
    bool may_be_grid() const {
        std::size_t widest = 0;
        for (Vertex v = 0; v < graph_.size(); ++v) {
            const auto arcs = graph_.arcs_of(v);
            widest = std::max(widest, arcs.size());
            const auto in_order = [](const Arc& a, const Arc& b) { return a.target < b.target; };
            if (arcs.size() > most_degree || !std::is_sorted(arcs.begin(), arcs.end(), in_order))
                return false;
        }
        return widest == 8 || widest == 26 || widest == most_degree;
    }

    std::vector<char> run(unsigned threads) {
        counts_.assign(graph_.arcs.size(), 0);
        for_each_edge(threads, [&](Vertex u, std::size_t arc, std::size_t back) {
            std::uint32_t count = 2;
            common(u, graph_.arcs[arc].target, [&](std::size_t, std::size_t) { ++count; });
            counts_[arc] = counts_[back] = count;
        });
        std::vector<char> is_face(graph_.arcs.size(), 1);
        for_each_edge(threads, [&](Vertex u, std::size_t arc, std::size_t back) {
            common(u, graph_.arcs[arc].target, [&](std::size_t arc_of_u, std::size_t arc_of_v) {
                const std::size_t touching = graph_.arcs_of(graph_.arcs[arc_of_u].target).size() + 1;
                if (std::size_t{counts_[arc_of_u]} * counts_[arc_of_v] == counts_[arc] * touching)
                    is_face[arc] = is_face[back] = 0;
            });
        });
        return is_face;
    }

  private:
    // Calls `visit(u, arc, back)` once per edge, with its indices in the rows of both ends.
    template <class Visit> void for_each_edge(unsigned threads, const Visit& visit) const {
        constexpr std::size_t parts = 64;
        for_each_index(parts, threads, [&](std::size_t part) {
            const auto last = static_cast<Vertex>(graph_.size() * (part + 1) / parts);
            for (auto u = static_cast<Vertex>(graph_.size() * part / parts); u < last; ++u)
                for (std::size_t arc = graph_.offsets[u]; arc < graph_.offsets[u + 1]; ++arc)
                    if (const Vertex v = graph_.arcs[arc].target; u < v)
                        if (const std::size_t back = find(v, u); back != graph_.arcs.size())
                            visit(u, arc, back);
        });
    }

    std::size_t find(Vertex v, Vertex target) const {
        const auto arcs = graph_.arcs_of(v);
        const auto found =
            std::lower_bound(arcs.begin(), arcs.end(), target,
                             [](const Arc& arc, Vertex wanted) { return arc.target < wanted; });
        if (found == arcs.end() || found->target != target)
            return graph_.arcs.size();
        return graph_.offsets[v] + static_cast<std::size_t>(found - arcs.begin());
    }

    // Calls `visit(arc of u, arc of v)` for every vertex that both touch.
    template <class Visit> void common(Vertex u, Vertex v, const Visit& visit) const {
        std::size_t arc_of_u = graph_.offsets[u];
        std::size_t arc_of_v = graph_.offsets[v];
        while (arc_of_u < graph_.offsets[u + 1] && arc_of_v < graph_.offsets[v + 1]) {
            const Vertex a = graph_.arcs[arc_of_u].target;
            const Vertex b = graph_.arcs[arc_of_v].target;
            if (a == b)
                visit(arc_of_u, arc_of_v);
            arc_of_u += a <= b ? 1U : 0U;
            arc_of_v += b <= a ? 1U : 0U;
        }
    }

    const Graph& graph_;
    std::vector<std::uint32_t> counts_;  // common neighbours of each arc
};

}  // namespace

std::vector<char> grid_faces(const Graph& graph, unsigned threads) {
    Faces faces{graph};
    return faces.may_be_grid() ? faces.run(threads) : std::vector<char>{};
}

}  // namespace mpiric::mapper
