// Hill climbing on the busiest link: the group with most traffic leaving it gives away, or exchanges, the
// vertices that talk most to the outside, while the busiest link gets lighter.
#include "algorithms/algorithms.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper {
namespace {

// Traffic that leaves each group of each level, kept up to date move by move.
class Links {
  public:
    Links(const Graph& graph, const Blocks& blocks, Partition& partition)
        : graph_{graph}, blocks_{blocks}, partition_{partition},
          levels_{std::max<std::size_t>(blocks.machine.groups.size(), 1)},
          leaving_(levels_, std::vector<Weight>(blocks.size(), 0)) {
        for (Vertex v = 0; v < graph.size(); ++v)
            for (const Arc& arc : graph.arcs_of(v))
                add(partition[v], partition[arc.target], arc.weight);
    }

    // Level 0 are the blocks themselves.
    std::size_t group(std::size_t level, Block block) const {
        return level == 0 ? block : blocks_.machine.groups[level - 1][block];
    }

    void move(Vertex v, Block to) {
        const Block from = partition_[v];
        for (const Arc& arc : graph_.arcs_of(v)) {
            const Block other = partition_[arc.target];
            add(from, other, -arc.weight);
            add(other, from, -arc.weight);
            add(to, other, arc.weight);
            add(other, to, arc.weight);
        }
        partition_[v] = to;
    }

    struct Busiest {
        Weight load;
        std::size_t level;
        std::size_t group;
    };
    Busiest busiest() const {
        Busiest found{-1, 0, 0};
        for (std::size_t level = 0; level < levels_; ++level) {
            const auto worst = std::max_element(leaving_[level].begin(), leaving_[level].end());
            if (*worst > found.load)
                found = {*worst, level, static_cast<std::size_t>(worst - leaving_[level].begin())};
        }
        return found;
    }

  private:
    void add(Block from, Block to, Weight weight) {
        for (std::size_t level = 0; level < levels_; ++level)
            if (group(level, from) != group(level, to))
                leaving_[level][group(level, from)] += weight;
    }

    const Graph& graph_;
    const Blocks& blocks_;
    Partition& partition_;
    std::size_t levels_;
    std::vector<std::vector<Weight>> leaving_;
};

struct Talker {
    Weight outside;
    Vertex vertex;
};

// Vertices of a group by what they send out of it less what they send inside, the most first.
std::vector<Talker> talkers(const Graph& graph, const Links& links, const Partition& partition,
                            std::size_t level, std::size_t group) {
    std::vector<Talker> found;
    for (Vertex v = 0; v < graph.size(); ++v) {
        if (links.group(level, partition[v]) != group)
            continue;
        Weight outside = 0;
        for (const Arc& arc : graph.arcs_of(v))
            outside += links.group(level, partition[arc.target]) == group ? -arc.weight : arc.weight;
        found.push_back({outside, v});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Talker& a, const Talker& b) { return a.outside > b.outside; });
    return found;
}

}  // namespace

void relieve_links(const Graph& graph, const Blocks& blocks, std::uint64_t seed, Partition& partition) {
    constexpr std::size_t exchanges = 200;
    constexpr std::size_t candidates = 16;
    Links links{graph, blocks, partition};
    std::vector<Weight> weights = loads(graph, partition, blocks.size());
    Random random = Random::of(seed, 7);
    const auto fits = [&](Vertex v, Vertex w) {
        const Weight change = graph.vertex_weights[w] - graph.vertex_weights[v];
        const Block a = partition[v];
        const Block b = partition[w];
        return weights[a] + change <= blocks.capacities[a] && weights[b] - change <= blocks.capacities[b];
    };
    // Exchanges v and w, takes that back unless the busiest link is lighter.
    const auto try_exchange = [&](Vertex v, Vertex w, Weight before) {
        const Block a = partition[v];
        const Block b = partition[w];
        if (a == b || !fits(v, w))
            return false;
        links.move(v, b);
        links.move(w, a);
        if (links.busiest().load < before) {
            weights[a] += graph.vertex_weights[w] - graph.vertex_weights[v];
            weights[b] += graph.vertex_weights[v] - graph.vertex_weights[w];
            return true;
        }
        links.move(w, b);
        links.move(v, a);
        return false;
    };
    for (std::size_t i = 0; i < exchanges; ++i) {
        const Links::Busiest worst = links.busiest();
        std::vector<Talker> inside = talkers(graph, links, partition, worst.level, worst.group);
        inside.resize(std::min(inside.size(), candidates));
        bool has_gained = false;
        for (const Talker& talker : inside) {
            std::vector<Vertex> partners;
            for (const Arc& arc : graph.arcs_of(talker.vertex))
                for (const Arc& second : graph.arcs_of(arc.target))
                    if (partners.size() < 4 * candidates &&
                        links.group(worst.level, partition[second.target]) != worst.group)
                        partners.push_back(second.target);
            for (std::size_t any = 0; any < candidates; ++any)
                partners.push_back(random.below(graph.size()));
            has_gained = std::any_of(partners.begin(), partners.end(), [&](Vertex other) {
                return try_exchange(talker.vertex, other, worst.load);
            });
            if (has_gained)
                break;
        }
        if (!has_gained)
            return;
    }
}

}  // namespace mpiric::mapper
