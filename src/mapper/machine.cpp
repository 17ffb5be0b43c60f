#include "machine.hpp"

#include <utility>

namespace mpiric::mapper {

Machine Machine::uniform(const std::vector<std::size_t>& fan_outs, const std::vector<Weight>& distances) {
    Machine machine;
    machine.slots = 1;
    for (const std::size_t fan_out : fan_outs)
        machine.slots *= fan_out;
    std::size_t width = 1;
    for (const std::size_t fan_out : fan_outs) {
        width *= fan_out;
        std::vector<std::uint32_t> group(machine.slots);
        for (std::size_t slot = 0; slot < machine.slots; ++slot)
            group[slot] = static_cast<std::uint32_t>(slot / width);
        machine.groups.push_back(std::move(group));
    }
    machine.distances = distances;
    return machine;
}

Blocks blocks_with_capacity(const Machine& machine, Weight capacity) {
    Blocks blocks{machine, std::vector<Weight>(machine.slots, capacity), 0, {}, 0};
    blocks.starts.reserve(machine.slots + 1);
    for (std::size_t slot = 0; slot <= machine.slots; ++slot)
        blocks.starts.push_back(slot);
    return blocks;
}

Blocks blocks_of_one_each(const Machine& machine) {
    if (machine.groups.size() < 2)
        return blocks_with_capacity(machine, 1);
    Blocks blocks;
    blocks.inside = machine.distances[0];
    blocks.levels_inside = 1;
    const std::vector<std::uint32_t>& innermost = machine.groups[0];
    for (std::size_t slot = 0; slot < machine.slots; ++slot) {
        if (slot == 0 || innermost[slot] != innermost[slot - 1]) {
            blocks.starts.push_back(slot);
            blocks.capacities.push_back(0);
        }
        ++blocks.capacities.back();
    }
    blocks.starts.push_back(machine.slots);
    blocks.machine.slots = blocks.capacities.size();
    blocks.machine.distances.assign(machine.distances.begin() + 1, machine.distances.end());
    for (std::size_t level = 1; level < machine.groups.size(); ++level) {
        std::vector<std::uint32_t> group;
        group.reserve(blocks.capacities.size());
        for (std::size_t block = 0; block < blocks.capacities.size(); ++block)
            group.push_back(machine.groups[level][blocks.starts[block]]);
        blocks.machine.groups.push_back(std::move(group));
    }
    blocks.machine.matrix = machine.matrix;
    return blocks;
}

}  // namespace mpiric::mapper
