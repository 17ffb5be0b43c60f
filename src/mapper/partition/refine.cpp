#include "partition/local_search.hpp"

namespace mpiric::mapper {
namespace {

struct CutCost {
    static Weight here(const std::vector<Connection>& connections, Block own) {
        for (const Connection& each : connections)
            if (each.block == own)
                return each.weight;
        return 0;
    }
    static Weight gain(const std::vector<Connection>& /*connections*/, Weight here,
                       const Connection& target) {
        return target.weight - here;
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

    Weight here(const std::vector<Connection>& connections, Block own) const {
        Weight total = 0;
        for (const Connection& each : connections)
            total += each.weight * distance(own, each.block);
        return total;
    }

    Weight gain(const std::vector<Connection>& connections, Weight here_now, const Connection& target) const {
        return here_now - here(connections, target.block);
    }

  private:
    Weight distance(Block a, Block b) const {
        return table_.empty() ? blocks_.distance(a, b) : table_[a * size_ + b];
    }

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
