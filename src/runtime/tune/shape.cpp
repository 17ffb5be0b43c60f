// Computes shapes from the nodes of a communicator's ranks.
#include "tune/shape.hpp"

#include "base/hash.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace mpiric::tune {
namespace {

bool is_block(std::span<const uint32_t> node, uint32_t nodes) {
    uint32_t changes = 0;
    for (size_t at = 1; at < node.size(); ++at)
        changes += node[at] != node[at - 1];
    return changes + 1 == nodes;
}

bool is_cyclic(std::span<const uint32_t> node, uint32_t nodes, uint32_t ranks_per_node) {
    if (size_t(nodes) * ranks_per_node != node.size())
        return false;
    for (size_t at = nodes; at < node.size(); ++at)
        if (node[at] != node[at - nodes])
            return false;
    return true;
}

}  // namespace

uint32_t number_nodes(std::span<uint32_t> labels) {
    std::unordered_map<uint32_t, uint32_t> numbers;
    for (uint32_t& label : labels)
        label = numbers.try_emplace(label, uint32_t(numbers.size())).first->second;
    return uint32_t(numbers.size());
}

Shape shape_of(std::span<const int32_t> members, const Nodes& nodes) {
    std::vector<uint32_t> node(members.size());
    std::vector<uint32_t> ranks_on(nodes.count);
    uint64_t hash = hash_number(hash_number(hash_basis, uint32_t(nodes.of_rank.size())), nodes.count);
    for (size_t at = 0; at < members.size(); ++at) {
        node[at] = nodes.of_rank[size_t(members[at])];
        ++ranks_on[node[at]];
        hash = hash_number(hash, node[at]);
    }
    Shape shape;
    shape.ranks = uint32_t(members.size());
    shape.nodes =
        uint32_t(std::count_if(ranks_on.begin(), ranks_on.end(), [](uint32_t ranks) { return ranks > 0; }));
    shape.ranks_per_node = ranks_on.empty() ? 0 : *std::max_element(ranks_on.begin(), ranks_on.end());
    shape.distribution = is_block(node, shape.nodes)                          ? Distribution::block
                         : is_cyclic(node, shape.nodes, shape.ranks_per_node) ? Distribution::cyclic
                                                                              : Distribution::mixed;
    shape.placement = hash;
    return shape;
}

uint64_t identity_of(std::span<const int32_t> members) {
    uint64_t hash = hash_basis;
    for (const int32_t member : members)
        hash = hash_number(hash, uint32_t(member));
    return hash;
}

}  // namespace mpiric::tune
