// Recursive multisection along the machine's tree (global multisection: von Kirchbach, Schulz, Träff 2020),
// with the adaptive imbalance of Schulz and Woydt (SharedMap, 2025): inner levels receive the imbalance that
// an outer level did not use.
#include "algorithms/algorithms.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mpiric::mapper {
namespace {

struct Range {
    std::size_t first;
    std::size_t last;
    [[nodiscard]] std::size_t size() const { return last - first; }
};

class Multisection {
  public:
    Multisection(const Blocks& blocks, const Effort& effort, std::uint64_t seed, Partition& partition)
        : blocks_{blocks}, effort_{effort}, seed_{seed}, partition_{partition},
          capacity_before_(blocks.size() + 1, 0) {
        std::partial_sum(blocks.capacities.begin(), blocks.capacities.end(), capacity_before_.begin() + 1);
    }

    void place(const Graph& graph, const std::vector<Vertex>& vertices, Range range, std::size_t level,
               unsigned threads) {
        if (range.size() == 1 || graph.size() == 0) {
            for (const Vertex v : vertices)
                partition_[v] = static_cast<Block>(range.first);
            return;
        }
        if (effort_.is_over())
            return fill(graph, vertices, range);
        const std::vector<Range> children = children_of(range, level);
        if (children.size() == 1)
            return place(graph, vertices, children[0], level - 1, threads);
        std::vector<Piece> pieces =
            split(graph, division(graph, children, range, level, threads), children.size());
        for (Piece& piece : pieces)
            for (Vertex& v : piece.vertices)
                v = vertices[v];
        const bool is_level_done = children.size() == groups_in(range, level);
        descend(pieces, children, is_level_done && level > 0 ? level - 1 : level, threads);
    }

  private:
    std::size_t group_of(std::size_t block, std::size_t level) const {
        return level == 0 ? block : blocks_.machine.groups[level - 1][block];
    }

    // Fills one block after the other if the time is too short to divide.
    void fill(const Graph& graph, const std::vector<Vertex>& vertices, Range range) {
        const auto all = static_cast<double>(std::max<Weight>(capacity(range), 1));
        const double fullness = std::min(1.0, static_cast<double>(graph.weight()) / all);
        std::size_t block = range.first;
        double room = fullness * static_cast<double>(blocks_.capacities[block]);
        for (Vertex v = 0; v < graph.size(); ++v) {
            const auto weight = static_cast<double>(graph.vertex_weights[v]);
            while (room < weight / 2 && block + 1 < range.last)
                room += fullness * static_cast<double>(blocks_.capacities[++block]);
            partition_[vertices[v]] = static_cast<Block>(block);
            room -= weight;
        }
    }

    std::size_t groups_in(Range range, std::size_t level) const {
        return group_of(range.last - 1, level) - group_of(range.first, level) + 1;
    }

    // Returns the inner groups, joined into fewer ones if there are many.
    std::vector<Range> children_of(Range range, std::size_t level) const {
        std::vector<Range> groups;
        for (std::size_t block = range.first; block < range.last; ++block) {
            if (block == range.first || group_of(block, level) != group_of(block - 1, level))
                groups.push_back({block, block});
            groups.back().last = block + 1;
        }
        constexpr std::size_t most = 16;
        if (groups.size() <= most)
            return groups;
        constexpr std::size_t together = 8;
        std::vector<Range> joined;
        joined.reserve(together);
        for (std::size_t i = 0; i < together; ++i)
            joined.push_back({groups[groups.size() * i / together].first,
                              groups[groups.size() * (i + 1) / together - 1].last});
        return joined;
    }

    Weight capacity(Range range) const {
        return capacity_before_[range.last] - capacity_before_[range.first];
    }

    std::vector<Weight> capacities_of(const std::vector<Range>& children, Range range, std::size_t level,
                                      Weight weight) const {
        const double all = static_cast<double>(std::max<Weight>(capacity(range), 1));
        const double room = std::pow(all / static_cast<double>(std::max<Weight>(weight, 1)),
                                     1.0 / static_cast<double>(level + 1));
        std::vector<Weight> capacities;
        capacities.reserve(children.size());
        for (const Range child : children) {
            const auto most = static_cast<double>(capacity(child));
            const double share = static_cast<double>(weight) * most / all;
            capacities.push_back(
                std::min(capacity(child), static_cast<Weight>(std::ceil(share * room - 1e-9))));
        }
        return capacities;
    }

    // Outer cuts cost more: each inner level gets half the attempts of the next outer one.
    Effort effort_at(std::size_t level) const {
        const std::size_t depth = blocks_.machine.groups.size() - 1 - level;
        Effort effort = effort_;
        effort.repeats = std::max<std::size_t>(1, effort_.repeats >> depth);
        effort.combines = effort_.combines >> (2 * depth);
        return effort;
    }

    Partition division(const Graph& graph, const std::vector<Range>& children, Range range, std::size_t level,
                       unsigned threads) const {
        const std::uint64_t seed = Random::of(seed_, range.first * 64 + level).next();
        return evolve(graph, capacities_of(children, range, level, graph.weight()), effort_at(level), seed,
                      threads);
    }

    void descend(const std::vector<Piece>& pieces, const std::vector<Range>& children, std::size_t level,
                 unsigned threads) {
        for_each_index(children.size(), threads, [&](std::size_t i) {
            place(pieces[i].graph, pieces[i].vertices, children[i], level, 1);
        });
    }

    const Blocks& blocks_;
    const Effort& effort_;
    std::uint64_t seed_;
    Partition& partition_;
    std::vector<Weight> capacity_before_;
};

}  // namespace

Partition multisect(const Graph& graph, const Blocks& blocks, const Effort& effort, std::uint64_t seed,
                    unsigned threads) {
    Partition partition(graph.size(), 0);
    std::vector<Vertex> all(graph.size());
    std::iota(all.begin(), all.end(), Vertex{0});
    const std::size_t outermost = blocks.machine.groups.empty() ? 0 : blocks.machine.groups.size() - 1;
    Multisection{blocks, effort, seed, partition}.place(graph, all, {0, blocks.size()}, outermost, threads);
    return partition;
}

}  // namespace mpiric::mapper
