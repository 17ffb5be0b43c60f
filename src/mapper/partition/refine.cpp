#include "partition/local_search.hpp"

namespace mpiric::mapper {
namespace {

struct CutCost {
    static Weight gain(const std::vector<Connection>& connections, Block own, Block target) {
        Weight gained = 0;
        for (const Connection& each : connections) {
            if (each.block == own)
                gained -= each.weight;
            else if (each.block == target)
                gained += each.weight;
        }
        return gained;
    }
};

// Distances between all pairs of blocks where they fit into the cache, else asked of the machine.
class DistanceCost {
  public:
    explicit DistanceCost(const Blocks& blocks) : blocks_{blocks}, size_{blocks.size()} {
        constexpr std::size_t most = 1024;
        if (size_ > most)
            return;
        table_.reserve(size_ * size_);
        for (Block a = 0; a < size_; ++a)
            for (Block b = 0; b < size_; ++b)
                table_.push_back(blocks.distance(a, b));
    }

    Weight gain(const std::vector<Connection>& connections, Block own, Block target) const {
        Weight gained = 0;
        if (table_.empty()) {
            for (const Connection& each : connections)
                gained +=
                    each.weight * (blocks_.distance(own, each.block) - blocks_.distance(target, each.block));
            return gained;
        }
        const Weight* const from = &table_[own * size_];
        const Weight* const to = &table_[target * size_];
        for (const Connection& each : connections)
            gained += each.weight * (from[each.block] - to[each.block]);
        return gained;
    }

  private:
    const Blocks& blocks_;
    std::size_t size_;
    std::vector<Weight> table_;
};

}  // namespace

void refine_cut(const Graph& graph, const std::vector<Weight>& capacities, Weight slack, const Effort& effort,
                Random& random, Partition& partition) {
    const CutCost cost;
    LocalSearch{graph, cost, capacities, slack, effort, partition}.run(random);
}

void refine_mapping(const Graph& graph, const Blocks& blocks, Weight slack, const Effort& effort,
                    Random& random, Partition& partition) {
    const DistanceCost cost{blocks};
    LocalSearch{graph, cost, blocks.capacities, slack, effort, partition}.run(random);
}

}  // namespace mpiric::mapper
