// Finds the grid in a graph with arbitrary numbering. Starting at one vertex, two neighbours without another
// common neighbour are on opposite sides of it, and further neighbours follow from the squares of the grid.
// O(vertices), for neighbours across faces; weak edges and edges across grid edges and corners are ignored.
#include "algorithms/algorithms.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace mpiric::mapper {
namespace {

constexpr std::size_t most_directions = 16;  // two per dimension: forward 2d, backward 2d + 1
constexpr std::size_t most_neighbours = 8;

using Directions = std::array<Vertex, most_directions>;

// Lightest weight above the widest gap between powers of two: collective calls send little compared with it.
Weight least_strong(const Graph& graph) {
    std::array<bool, 64> is_used{};
    for (const Arc& arc : graph.arcs)
        is_used[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(arc.weight)))] = true;
    std::size_t widest = 2;
    std::size_t above = 0;
    std::size_t last = is_used.size();
    for (std::size_t bits = 0; bits < is_used.size(); ++bits)
        if (is_used[bits]) {
            if (last < bits && bits - last > widest) {
                widest = bits - last;
                above = bits;
            }
            last = bits;
        }
    return above == 0 ? 0 : Weight{1} << (above - 1);
}

class GridSearch {
  public:
    // Restricts the arcs to those with `is_kept(index)`.
    template <class Kept>
    GridSearch(const Graph& graph, const Kept& is_kept) : next_(graph.size()), neighbours_(graph.size()) {
        for (Vertex v = 0; v < graph.size(); ++v)
            for (std::size_t i = graph.offsets[v]; i < graph.offsets[v + 1]; ++i)
                if (const Vertex target = graph.arcs[i].target; is_kept(i) && !is_edge(v, target)) {
                    if (neighbours_[v].count == most_neighbours) {
                        is_grid_ = false;
                        return;
                    }
                    neighbours_[v].ends[neighbours_[v].count++] = target;
                }
    }

    HiddenGrid run() {
        if (!is_grid_ || neighbours_.empty())
            return {};
        const auto widest = std::max_element(neighbours_.begin(), neighbours_.end(),
                                             [](const auto& a, const auto& b) { return a.count < b.count; });
        start_ = static_cast<Vertex>(widest - neighbours_.begin());
        if (widest->count == 0 || !orient_start())
            return {};
        order_ = {start_};
        is_oriented_.assign(next_.size(), 0);
        is_oriented_[start_] = 1;
        for (std::size_t i = 0; i < order_.size(); ++i)
            for (std::size_t direction = 0; direction < 2 * dimensions_; ++direction) {
                const Vertex end = next_[order_[i]][direction];
                if (end == no_vertex || is_oriented_[end] != 0)
                    continue;
                if (!orient(order_[i], end, direction))
                    return {};
                is_oriented_[end] = 1;
                order_.push_back(end);
            }
        return order_.size() == next_.size() ? positions() : HiddenGrid{};
    }

  private:
    struct Neighbours {
        std::array<Vertex, most_neighbours> ends{};
        std::size_t count = 0;
        [[nodiscard]] std::span<const Vertex> all() const { return {ends.data(), count}; }
    };

    bool is_edge(Vertex a, Vertex b) const {
        const auto ends = neighbours_[a].all();
        return std::find(ends.begin(), ends.end(), b) != ends.end();
    }

    // Returns the only common neighbour of two vertices except `known`; `no_vertex` if there is none or more
    // than one.
    Vertex common(Vertex a, Vertex b, Vertex known) const {
        Vertex found = no_vertex;
        for (const Vertex end : neighbours_[a].all())
            if (end != known && is_edge(b, end)) {
                if (found != no_vertex)
                    return no_vertex;
                found = end;
            }
        return found;
    }

    bool has_common(Vertex a, Vertex b, Vertex known) const {
        const auto ends = neighbours_[a].all();
        return std::any_of(ends.begin(), ends.end(),
                           [&](Vertex end) { return end != known && is_edge(b, end); });
    }

    // Neighbours of the start without a common square are the two of one dimension.
    bool orient_start() {
        next_[start_].fill(no_vertex);
        std::vector<Vertex> left(neighbours_[start_].all().begin(), neighbours_[start_].all().end());
        while (!left.empty()) {
            const Vertex ahead = left.back();
            left.pop_back();
            const auto is_back = [&](Vertex end) { return !has_common(ahead, end, start_); };
            const auto back = std::find_if(left.begin(), left.end(), is_back);
            next_[start_][2 * dimensions_] = ahead;
            if (back != left.end()) {
                if (std::find_if(back + 1, left.end(), is_back) != left.end())
                    return false;
                next_[start_][2 * dimensions_ + 1] = *back;
                left.erase(back);
            }
            ++dimensions_;
        }
        return true;
    }

    // Determines the directions of a vertex that is reached from a vertex with known directions.
    bool orient(Vertex from, Vertex v, std::size_t direction) {
        Directions& next = next_[v];
        next.fill(no_vertex);
        const std::size_t back = direction ^ 1U;
        next[back] = from;
        std::size_t known = 1;
        for (std::size_t other = 0; other < 2 * dimensions_; ++other) {
            if (other == direction || other == back || next_[from][other] == no_vertex)
                continue;
            next[other] = common(v, next_[from][other], from);
            if (next[other] == no_vertex)
                return false;
            ++known;
        }
        for (const Vertex end : neighbours_[v].all())
            if (std::find(next.begin(), next.end(), end) == next.end()) {
                if (next[direction] != no_vertex)
                    return false;
                next[direction] = end;
                ++known;
            }
        return known == neighbours_[v].count;
    }

    // Walks in one direction until the side of the grid or the start.
    std::size_t steps(std::size_t direction, bool& is_ring) const {
        std::size_t count = 0;
        for (Vertex v = next_[start_][direction]; v != no_vertex && count <= next_.size();
             v = next_[v][direction]) {
            ++count;
            is_ring = v == start_;
            if (is_ring)
                break;
        }
        return count;
    }

    HiddenGrid positions() const {
        HiddenGrid found;
        std::vector<std::size_t> strides(dimensions_);
        std::vector<bool> is_ring(dimensions_);
        std::size_t start = 0;
        std::size_t stride = 1;
        for (std::size_t d = 0; d < dimensions_; ++d) {
            bool closes = false;
            const std::size_t ahead = steps(2 * d, closes);
            bool closes_back = closes;
            const std::size_t back = closes ? 0 : steps(2 * d + 1, closes_back);
            const std::size_t extent = closes ? ahead : ahead + back + 1;
            if (closes_back != closes || extent > next_.size())
                return {};
            strides[d] = stride;
            is_ring[d] = closes;
            start += back * stride;
            stride *= extent;
            found.grid.extents.insert(found.grid.extents.begin(), extent);
            if (stride > next_.size())
                return {};
        }
        if (stride != next_.size())
            return {};
        return place(found, strides, is_ring, start) ? found : HiddenGrid{};
    }

    // Places every vertex by a step from a placed one, then checks all steps.
    bool place(HiddenGrid& found, const std::vector<std::size_t>& strides, const std::vector<bool>& is_ring,
               std::size_t start) const {
        const auto after = [&](std::size_t at, std::size_t direction) -> std::size_t {
            const std::size_t d = direction / 2;
            const std::size_t extent = found.grid.extents[dimensions_ - 1 - d];
            const std::size_t coordinate = at / strides[d] % extent;
            const bool is_last = direction % 2 == 0 ? coordinate + 1 == extent : coordinate == 0;
            if (is_last && !is_ring[d])
                return next_.size();
            const std::size_t moved = (coordinate + (direction % 2 == 0 ? 1 : extent - 1)) % extent;
            return at - coordinate * strides[d] + moved * strides[d];
        };
        found.position.assign(next_.size(), no_vertex);
        std::vector<char> is_taken(next_.size(), 0);
        found.position[start_] = static_cast<Vertex>(start);
        is_taken[start] = 1;
        for (const Vertex v : order_)
            for (std::size_t direction = 0; direction < 2 * dimensions_; ++direction) {
                const Vertex end = next_[v][direction];
                const std::size_t at = after(found.position[v], direction);
                if (end == no_vertex)
                    continue;
                if (at == next_.size())
                    return false;
                if (found.position[end] == no_vertex) {
                    if (is_taken[at] != 0)
                        return false;
                    is_taken[at] = 1;
                    found.position[end] = static_cast<Vertex>(at);
                } else if (found.position[end] != at) {
                    return false;
                }
            }
        return true;
    }

    std::vector<Directions> next_;
    std::vector<Neighbours> neighbours_;
    std::vector<char> is_oriented_;
    std::vector<Vertex> order_;  // vertices in the order in which they are reached
    std::size_t dimensions_ = 0;
    Vertex start_ = 0;
    bool is_grid_ = true;
};

}  // namespace

HiddenGrid find_hidden_grid(const Graph& graph, unsigned threads) {
    HiddenGrid found = GridSearch{graph, [](std::size_t) { return true; }}.run();
    if (const Weight least = least_strong(graph); found.position.empty() && least > 0)
        found = GridSearch{graph, [&](std::size_t i) { return graph.arcs[i].weight >= least; }}.run();
    if (found.position.empty())
        if (const std::vector<char> is_face = grid_faces(graph, threads); !is_face.empty())
            found = GridSearch{graph, [&](std::size_t i) { return is_face[i] != 0; }}.run();
    return found;
}

}  // namespace mpiric::mapper
