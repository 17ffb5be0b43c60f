// Hill climbing on the busiest link: its vertices are exchanged with others as long as its load falls. Links
// are the links of the network's routes and the links by which traffic leaves a group.
#include "algorithms/algorithms.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper {
namespace {

// Numbers with constant-time access to the largest: a tournament tree.
class Loads {
  public:
    explicit Loads(std::size_t count) {
        while (leaves_ < count)
            leaves_ *= 2;
        tree_.assign(2 * leaves_, 0);
    }
    void add(std::size_t at, Weight change) {
        at += leaves_;
        tree_[at] += change;
        while (at > 1) {
            at /= 2;
            const Weight larger = std::max(tree_[2 * at], tree_[2 * at + 1]);
            if (tree_[at] == larger)
                break;
            tree_[at] = larger;
        }
    }
    [[nodiscard]] Weight largest() const { return tree_[1]; }
    [[nodiscard]] std::size_t where() const {
        std::size_t at = 1;
        while (at < leaves_)
            at = 2 * at + (tree_[2 * at] == tree_[at] ? 0 : 1);
        return at - leaves_;
    }

  private:
    std::size_t leaves_ = 1;
    std::vector<Weight> tree_;
};

// Traffic of each link, updated move by move. The own links of groups come first, level by level.
class Links {
  public:
    Links(const Graph& graph, const Blocks& blocks, const Routes& routes, Partition& partition)
        : graph_{graph}, blocks_{blocks}, routes_{routes}, partition_{partition},
          levels_{routes.costs.empty() ? std::max<std::size_t>(blocks.machine.groups.size(), 1)
                                       : routes.level + 2 - blocks.levels_inside},
          loads_{levels_ * blocks.size() + routes.costs.size()} {
        for (Vertex v = 0; v < graph.size(); ++v)
            for (const Arc& arc : graph.arcs_of(v))
                add(partition[v], partition[arc.target], arc.weight);
    }

    [[nodiscard]] Weight worst() const { return loads_.largest(); }
    [[nodiscard]] std::size_t busiest() const { return loads_.where(); }

    // Checks whether traffic from one block to another uses the link.
    [[nodiscard]] bool carries(std::size_t link, Block from, Block to) const {
        const std::size_t own = levels_ * blocks_.size();
        if (link < own) {
            const std::size_t level = link / blocks_.size();
            return group(level, from) == link % blocks_.size() && group(level, to) != group(level, from);
        }
        const std::size_t a = group(levels_ - 1, from);
        const std::size_t b = group(levels_ - 1, to);
        if (a == b)
            return false;
        const auto route = routes_.between(a, b);
        return std::find(route.begin(), route.end(), link - own) != route.end();
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

  private:
    // The groups of level 0 are the blocks themselves.
    [[nodiscard]] std::size_t group(std::size_t level, Block block) const {
        return level == 0 ? block : blocks_.machine.groups[level - 1][block];
    }

    void add(Block from, Block to, Weight weight) {
        for (std::size_t level = 0; level < levels_; ++level)
            if (group(level, from) != group(level, to))
                loads_.add(level * blocks_.size() + group(level, from),
                           routes_.costs.empty() ? weight : weight * Routes::own_link);
        if (routes_.costs.empty())
            return;
        const std::size_t a = group(levels_ - 1, from);
        const std::size_t b = group(levels_ - 1, to);
        if (a != b)
            for (const std::uint32_t link : routes_.between(a, b))
                loads_.add(levels_ * blocks_.size() + link, weight * routes_.costs[link]);
    }

    const Graph& graph_;
    const Blocks& blocks_;
    const Routes& routes_;
    Partition& partition_;
    std::size_t levels_;
    Loads loads_;
};

struct Talker {
    Weight outside;
    Vertex vertex;
};

// Vertices with traffic on a link, sorted by the excess of this traffic over the traffic within their block.
std::vector<Talker> talkers(const Graph& graph, const Links& links, const Partition& partition,
                            std::size_t link) {
    std::vector<Talker> found;
    for (Vertex v = 0; v < graph.size(); ++v) {
        Weight on_link = 0;
        Weight outside = 0;
        for (const Arc& arc : graph.arcs_of(v)) {
            const Block own = partition[v];
            const Block other = partition[arc.target];
            const bool is_on_link = links.carries(link, own, other) || links.carries(link, other, own);
            on_link += is_on_link ? arc.weight : 0;
            outside += is_on_link ? arc.weight : own == other ? -arc.weight : 0;
        }
        if (on_link > 0)
            found.push_back({outside, v});
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Talker& a, const Talker& b) { return a.outside > b.outside; });
    return found;
}

}  // namespace

void relieve_links(const Graph& graph, const Blocks& blocks, const Routes& routes, const Effort& effort,
                   std::uint64_t seed, Partition& partition) {
    constexpr std::size_t exchanges = 2000;
    constexpr std::size_t candidates = 16;
    Links links{graph, blocks, routes, partition};
    std::vector<Weight> weights = loads(graph, partition, blocks.size());
    Random random = Random::of(seed, 7);
    const auto fits = [&](Vertex v, Vertex w) {
        const Weight change = graph.vertex_weights[w] - graph.vertex_weights[v];
        const Block a = partition[v];
        const Block b = partition[w];
        return weights[a] + change <= blocks.capacities[a] && weights[b] - change <= blocks.capacities[b];
    };
    // Exchanges v and w, and reverts the exchange unless the load of the busiest link falls.
    const auto try_exchange = [&](Vertex v, Vertex w, Weight before) {
        const Block a = partition[v];
        const Block b = partition[w];
        if (a == b || !fits(v, w))
            return false;
        links.move(v, b);
        links.move(w, a);
        if (links.worst() < before) {
            weights[a] += graph.vertex_weights[w] - graph.vertex_weights[v];
            weights[b] += graph.vertex_weights[v] - graph.vertex_weights[w];
            return true;
        }
        links.move(w, b);
        links.move(v, a);
        return false;
    };
    for (std::size_t i = 0; i < exchanges && !effort.is_over(); ++i) {
        const Weight before = links.worst();
        std::vector<Talker> behind = talkers(graph, links, partition, links.busiest());
        behind.resize(std::min(behind.size(), candidates));
        bool has_gained = false;
        for (const Talker& talker : behind) {
            std::vector<Vertex> partners;
            for (const Arc& arc : graph.arcs_of(talker.vertex))
                for (const Arc& second : graph.arcs_of(arc.target))
                    if (partners.size() < 4 * candidates &&
                        partition[second.target] != partition[talker.vertex])
                        partners.push_back(second.target);
            for (std::size_t any = 0; any < candidates; ++any)
                partners.push_back(random.below(graph.size()));
            has_gained = std::any_of(partners.begin(), partners.end(), [&](Vertex other) {
                return try_exchange(talker.vertex, other, before);
            });
            if (has_gained)
                break;
        }
        if (!has_gained)
            return;
    }
}

}  // namespace mpiric::mapper
