// Costs of an order: the objectives.
#pragma once

#include "machine.hpp"

#include <string>

namespace mpiric::mapper {

struct Quality {
    double hop_bytes = 0;      // sum over ordered pairs of weight times distance
    double off_node = 0;       // weight between different innermost groups; each pair counts once
    double worst_link = 0;     // largest traffic of a group of any level, in both directions
    double worst_node = 0;     // largest traffic of an innermost group
    Weight heaviest_slot = 0;  // largest sum of vertex weights in a slot
};

// `slot_of` is the slot of each vertex.
double hop_bytes(const Graph& graph, const Machine& machine, const std::vector<std::uint32_t>& slot_of,
                 unsigned threads = 1);
Quality measure(const Graph& graph, const Machine& machine, const std::vector<std::uint32_t>& slot_of);

// Cost of the busiest link: a link of the network, or the link by which traffic leaves a group. Without
// routes of the network, every group of every level has such a link.
double worst_link(const Graph& graph, const Machine& machine, const Routes& routes,
                  const std::vector<std::uint32_t>& slot_of);

}  // namespace mpiric::mapper
