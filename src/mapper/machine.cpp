#include "machine.hpp"

#include <algorithm>
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

TreePaths::TreePaths(const Machine& machine) {
    const std::size_t levels = machine.groups.size();
    if (!machine.matrix.empty() || levels == 0)
        return;
    // Index of each slot in its innermost group, of this group in the next outer one, …; level by level.
    std::vector<std::uint32_t> place(levels, 0);
    std::vector<std::uint32_t> last(levels, 0);
    const auto step = [&](std::size_t slot) {
        for (std::size_t level = 0; level < levels; ++level) {
            const bool is_new =
                level == 0 || machine.groups[level - 1][slot] != machine.groups[level - 1][slot - 1];
            const bool is_first = machine.groups[level][slot] != machine.groups[level][slot - 1];
            place[level] = is_first ? 0 : place[level] + (is_new ? 1U : 0U);
            last[level] = std::max(last[level], place[level]);
        }
    };
    for (std::size_t slot = 1; slot < machine.slots; ++slot)
        step(slot);
    std::vector<int> shifts;
    shifts.reserve(levels);
    int bits = 0;
    for (std::size_t level = 0; level < levels; ++level) {
        shifts.push_back(bits);
        const int end = bits + static_cast<int>(std::bit_width(last[level]));
        for (int bit = bits + 1; bit <= std::min(end, 64); ++bit)
            distances_[static_cast<std::size_t>(bit)] = machine.distances[level];
        bits = end;
    }
    if (bits > 64)
        return;
    paths_.assign(machine.slots, 0);
    std::fill(place.begin(), place.end(), 0);
    for (std::size_t slot = 1; slot < machine.slots; ++slot) {
        step(slot);
        for (std::size_t level = 0; level < levels; ++level)
            if (place[level] != 0)
                paths_[slot] |= std::uint64_t{place[level]} << static_cast<unsigned>(shifts[level]);
    }
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
