#include "parallel.hpp"
#include "partition/partition.hpp"

#include <algorithm>

namespace mpiric::mapper {
namespace {

struct Individual {
    Partition partition;
    CutQuality quality{};
};

Individual individual(const Graph& graph, const std::vector<Weight>& capacities, Partition partition) {
    const CutQuality quality = cut_quality(graph, capacities, partition);
    return {std::move(partition), quality};
}

}  // namespace

Partition evolve(const Graph& graph, const std::vector<Weight>& capacities, const Effort& effort,
                 std::uint64_t seed, unsigned threads) {
    const std::size_t size = std::max<std::size_t>(effort.repeats, 1);
    if (size == 1) {
        Random random = Random::of(seed, 0);
        return divide(graph, capacities, effort, random, threads);
    }
    std::vector<Individual> population(size);
    for_each_index(size, threads, [&](std::size_t i) {
        if (i > 0 && effort.is_over())
            return;
        Random random = Random::of(seed, i);
        population[i] = individual(graph, capacities, divide(graph, capacities, effort, random, 1));
    });
    std::erase_if(population, [](const Individual& each) { return each.partition.empty(); });
    const std::size_t alive = population.size();
    constexpr std::size_t together = 2;  // size of a generation, independent of the number of threads
    const auto by_quality = [](const Individual& a, const Individual& b) { return a.quality < b.quality; };
    for (std::size_t done = 0; alive > 1 && done < effort.combines && !effort.is_over(); done += together) {
        std::stable_sort(population.begin(), population.end(), by_quality);
        std::vector<Individual> children(together);
        for_each_index(together, threads, [&](std::size_t i) {
            Random random = Random::of(seed, 1000 + done + i);
            const std::size_t better = i == 0 ? 0 : random.below(alive - 1);
            const std::size_t other = better + 1 + random.below(alive - 1 - better);
            children[i] = individual(graph, capacities,
                                     combine(graph, capacities, population[better].partition,
                                             population[other].partition, effort, random));
        });
        for (Individual& child : children) {
            const auto worst = std::max_element(population.begin(), population.end(), by_quality);
            if (child.quality < worst->quality)
                *worst = std::move(child);
        }
    }
    return std::move(std::min_element(population.begin(), population.end(), by_quality)->partition);
}

}  // namespace mpiric::mapper
