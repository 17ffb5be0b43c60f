// Orders that launchers offer: cyclic over the nodes (round robin) and folded (Cray's
// MPICH_RANK_REORDER_METHOD 0 and 2). Block-wise over the nodes (SMP, method 1) is the order of the slots.
#include "algorithms/algorithms.hpp"

#include <algorithm>

namespace mpiric::mapper {
namespace {

// Deals the vertices to the groups in turn, with `folds` in alternating direction; full groups are skipped.
Slots deal(const std::vector<std::size_t>& starts, std::size_t slots, bool folds) {
    std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
    const std::size_t groups = next.size();
    Slots slot_of;
    for (std::size_t round = 0; slot_of.size() < slots; ++round)
        for (std::size_t i = 0; i < groups; ++i) {
            const std::size_t group = folds && round % 2 == 1 ? groups - 1 - i : i;
            if (next[group] < starts[group + 1])
                slot_of.push_back(static_cast<std::uint32_t>(next[group]++));
        }
    return slot_of;
}

}  // namespace

std::vector<Classic> classics(const Machine& machine) {
    const Blocks nodes = blocks_of_one_each(machine);
    Slots in_order(machine.slots);
    for (std::size_t slot = 0; slot < machine.slots; ++slot)
        in_order[slot] = static_cast<std::uint32_t>(slot);
    return {{"smp", std::move(in_order)},
            {"round robin", deal(nodes.starts, machine.slots, false)},
            {"folded", deal(nodes.starts, machine.slots, true)}};
}

}  // namespace mpiric::mapper
