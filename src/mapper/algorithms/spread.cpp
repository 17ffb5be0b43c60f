// Distribution of a resource that groups share: while a group exceeds the fair use, one of its vertices is
// exchanged with a vertex of a group with a smaller use, at the least additional distance; then exchanges
// that reduce distances without exceeding the fair use.
#include "algorithms/algorithms.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper {
namespace {

std::vector<Weight> uses(const Machine& machine, const Resource& resource, const Slots& slot_of) {
    const std::vector<std::uint32_t>& group = machine.groups[resource.level];
    std::vector<Weight> found(group.back() + std::size_t{1}, 0);
    for (std::size_t v = 0; v < slot_of.size(); ++v)
        found[group[slot_of[v]]] += resource.use_of[v];
    return found;
}

class Spreading {
  public:
    Spreading(const Graph& graph, const Machine& machine, const Resource& resource, Slots& slot_of)
        : graph_{graph}, machine_{machine}, resource_{resource}, slot_of_{slot_of},
          group_{machine.groups[resource.level]}, uses_{uses(machine, resource, slot_of)},
          vertices_(machine.slots), most_{fair_use(machine, resource)} {
        for (Vertex v = 0; v < slot_of.size(); ++v)
            vertices_[slot_of[v]] = v;
        starts_.assign(uses_.size() + 1, 0);
        for (const std::uint32_t group : group_)
            ++starts_[group + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    }

    void relieve(const Effort& effort, Random& random) {
        while (!effort.is_over()) {
            const auto worst = std::max_element(uses_.begin(), uses_.end());
            if (*worst <= most_ || !relieve(static_cast<std::size_t>(worst - uses_.begin()), random))
                return;
        }
    }

    void shorten(const Effort& effort, Random& random) {
        const Weight most = std::max(most_, *std::max_element(uses_.begin(), uses_.end()));
        for (std::size_t round = 0; round < effort.rounds; ++round) {
            bool has_gained = false;
            for (std::size_t i = 0; i < slot_of_.size() && !effort.is_over(); ++i) {
                const Vertex v = random.below(slot_of_.size());
                for (const Arc& arc : graph_.arcs_of(v)) {
                    const std::size_t near = group_of(arc.target);
                    const std::size_t width = starts_[near + 1] - starts_[near];
                    const Vertex w = vertices_[starts_[near] + random.below(width)];
                    if (near == group_of(v) || after(v, w) > most || after(w, v) > most || gain(v, w) <= 0)
                        continue;
                    exchange(v, w);
                    has_gained = true;
                    break;
                }
            }
            if (!has_gained)
                return;
        }
    }

  private:
    std::size_t group_of(Vertex v) const { return group_[slot_of_[v]]; }

    // Use of v's group if w replaces v.
    Weight after(Vertex v, Vertex w) const {
        return uses_[group_of(v)] - resource_.use_of[v] + resource_.use_of[w];
    }

    Weight distance_from(Vertex v, std::size_t slot, Vertex partner) const {
        Weight total = 0;
        for (const Arc& arc : graph_.arcs_of(v))
            if (arc.target != partner)
                total += arc.weight * machine_.distance(slot, slot_of_[arc.target]);
        return total;
    }

    Weight gain(Vertex v, Vertex w) const {
        return distance_from(v, slot_of_[v], w) + distance_from(w, slot_of_[w], v) -
               distance_from(v, slot_of_[w], w) - distance_from(w, slot_of_[v], v);
    }

    void exchange(Vertex v, Vertex w) {
        const Weight change = resource_.use_of[w] - resource_.use_of[v];
        uses_[group_of(v)] += change;
        uses_[group_of(w)] -= change;
        std::swap(slot_of_[v], slot_of_[w]);
        vertices_[slot_of_[v]] = v;
        vertices_[slot_of_[w]] = w;
    }

    bool relieve(std::size_t group, Random& random) {
        constexpr std::size_t heavy = 8;
        constexpr std::size_t tried = 64;
        std::vector<Vertex> inside(vertices_.begin() + static_cast<std::ptrdiff_t>(starts_[group]),
                                   vertices_.begin() + static_cast<std::ptrdiff_t>(starts_[group + 1]));
        std::stable_sort(inside.begin(), inside.end(),
                         [&](Vertex a, Vertex b) { return resource_.use_of[a] > resource_.use_of[b]; });
        inside.resize(std::min(inside.size(), heavy));
        const std::size_t lightest =
            static_cast<std::size_t>(std::min_element(uses_.begin(), uses_.end()) - uses_.begin());
        Vertex from = 0;
        Vertex with = 0;
        Weight best = 0;
        bool is_found = false;
        const auto consider = [&](Vertex v, Vertex w) {
            if (group_of(w) == group || resource_.use_of[w] >= resource_.use_of[v] ||
                after(w, v) >= std::max(uses_[group], most_ + 1))
                return;
            const Weight gained = gain(v, w);
            if (!is_found || gained > best) {
                from = v;
                with = w;
                best = gained;
                is_found = true;
            }
        };
        for (const Vertex v : inside) {
            for (std::size_t slot = starts_[lightest]; slot < starts_[lightest + 1]; ++slot)
                consider(v, vertices_[slot]);
            for (std::size_t i = 0; i < tried; ++i)
                consider(v, random.below(slot_of_.size()));
            for (const Arc& arc : graph_.arcs_of(v))
                consider(v, arc.target);
        }
        if (is_found)
            exchange(from, with);
        return is_found;
    }

    const Graph& graph_;
    const Machine& machine_;
    const Resource& resource_;
    Slots& slot_of_;
    const std::vector<std::uint32_t>& group_;
    std::vector<Weight> uses_;
    std::vector<Vertex> vertices_;  // vertex in each slot
    std::vector<std::size_t> starts_;
    Weight most_;
};

}  // namespace

Weight heaviest_use(const Machine& machine, const Resource& resource, const Slots& slot_of) {
    const std::vector<Weight> found = uses(machine, resource, slot_of);
    return *std::max_element(found.begin(), found.end());
}

Weight fair_use(const Machine& machine, const Resource& resource) {
    const auto groups = static_cast<Weight>(machine.groups[resource.level].back()) + 1;
    const Weight total = std::accumulate(resource.use_of.begin(), resource.use_of.end(), Weight{0});
    const Weight share = (total + groups - 1) / groups;
    return std::max(share + share / 20, *std::max_element(resource.use_of.begin(), resource.use_of.end()));
}

void spread(const Graph& graph, const Machine& machine, const Resource& resource, const Effort& effort,
            std::uint64_t seed, Slots& slot_of) {
    Random random = Random::of(seed, 11);
    Spreading spreading{graph, machine, resource, slot_of};
    spreading.relieve(effort, random);
    spreading.shorten(effort, random);
}

}  // namespace mpiric::mapper
