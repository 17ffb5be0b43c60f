#include "quality.hpp"

#include "parallel.hpp"

#include <algorithm>
#include <numeric>

namespace mpiric::mapper {

namespace {

template <class Distance>
double sum_over_arcs(const Graph& graph, unsigned threads, const Distance& distance) {
    constexpr std::size_t parts = 32;  // fixed, so that the order of additions does not depend on threads
    std::vector<double> totals(parts, 0);
    for_each_index(parts, threads, [&](std::size_t part) {
        double total = 0;
        for (std::size_t v = graph.size() * part / parts; v < graph.size() * (part + 1) / parts; ++v) {
            Weight of_vertex = 0;
            for (const Arc& arc : graph.arcs_of(static_cast<Vertex>(v)))
                of_vertex += arc.weight * distance(v, arc.target);
            total += static_cast<double>(of_vertex);
        }
        totals[part] = total;
    });
    return std::accumulate(totals.begin(), totals.end(), 0.0);
}

}  // namespace

double hop_bytes(const Graph& graph, const Machine& machine, const std::vector<std::uint32_t>& slot_of,
                 unsigned threads) {
    const TreePaths paths{machine};
    if (!paths.are_complete())
        return sum_over_arcs(graph, threads, [&](std::size_t v, Vertex target) {
            return machine.distance(slot_of[v], slot_of[target]);
        });
    std::vector<std::uint64_t> path_of;
    path_of.reserve(slot_of.size());
    for (const std::uint32_t slot : slot_of)
        path_of.push_back(paths.of(slot));
    return sum_over_arcs(graph, threads, [&](std::size_t v, Vertex target) {
        return paths.distance(path_of[v], path_of[target]);
    });
}

double worst_link(const Graph& graph, const Machine& machine, const Routes& routes,
                  const std::vector<std::uint32_t>& slot_of) {
    if (routes.costs.empty())
        return measure(graph, machine, slot_of).worst_link;
    std::vector<double> loads(routes.costs.size(), 0);
    double worst = 0;
    for (std::size_t level = 0; level <= routes.level; ++level) {
        const std::vector<std::uint32_t>& group = machine.groups[level];
        std::vector<double> leaving(group.back() + std::size_t{1}, 0);
        for (Vertex v = 0; v < graph.size(); ++v)
            for (const Arc& arc : graph.arcs_of(v)) {
                const std::uint32_t from = group[slot_of[v]];
                const std::uint32_t to = group[slot_of[arc.target]];
                if (from == to)
                    continue;
                leaving[from] += static_cast<double>(arc.weight * Routes::own_link);
                if (level == routes.level)
                    for (const std::uint32_t link : routes.between(from, to))
                        loads[link] += static_cast<double>(arc.weight * routes.costs[link]);
            }
        worst = std::max(worst, *std::max_element(leaving.begin(), leaving.end()));
    }
    return std::max(worst, *std::max_element(loads.begin(), loads.end()));
}

Quality measure(const Graph& graph, const Machine& machine, const std::vector<std::uint32_t>& slot_of) {
    Quality found;
    found.hop_bytes = hop_bytes(graph, machine, slot_of);
    // The outermost level is one group without outgoing traffic; if it is the only level, slots represent
    // nodes.
    const std::size_t levels = std::max<std::size_t>(machine.groups.size() - 1, 1);
    for (std::size_t level = 0; level < levels; ++level) {
        std::vector<double> leaving(machine.slots, 0);
        const auto group = [&](std::size_t slot) {
            return machine.groups.size() == 1 ? static_cast<std::uint32_t>(slot)
                                              : machine.groups[level][slot];
        };
        double all = 0;
        for (Vertex v = 0; v < graph.size(); ++v)
            for (const Arc& arc : graph.arcs_of(v))
                if (group(slot_of[v]) != group(slot_of[arc.target])) {
                    leaving[group(slot_of[v])] += static_cast<double>(arc.weight);
                    all += static_cast<double>(arc.weight);
                }
        const double worst = *std::max_element(leaving.begin(), leaving.end());
        found.worst_link = std::max(found.worst_link, worst);
        if (level == 0) {
            found.off_node = all / 2;
            found.worst_node = worst;
        }
    }
    std::vector<Weight> loads(machine.slots, 0);
    for (Vertex v = 0; v < graph.size(); ++v)
        loads[slot_of[v]] += graph.vertex_weights[v];
    found.heaviest_slot = *std::max_element(loads.begin(), loads.end());
    return found;
}

}  // namespace mpiric::mapper
