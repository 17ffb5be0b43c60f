#include "partition/local_search.hpp"

namespace mpiric::mapper {
namespace {

struct CutCost {
    static void prepare(const std::vector<Connection>& /*connections*/) {}
    static Weight cost_in(const std::vector<Connection>& connections, Block own) {
        for (const Connection& each : connections)
            if (each.block == own)
                return each.weight;
        return 0;
    }
    static Weight gain(const std::vector<Connection>& /*connections*/, Weight own_cost,
                       const Connection& target) {
        return target.weight - own_cost;
    }
};

// Cost of a vertex in one block after another. Few connections are evaluated per block; for many, the weights
// are first added up per group: O(levels) per block.
class DistanceCost {
  public:
    explicit DistanceCost(const Blocks& blocks)
        : blocks_{blocks}, size_{blocks.size()}, levels_{blocks.machine.groups.size()} {
        constexpr std::size_t most = 1024;  // number of blocks whose distances fit into the cache
        if (size_ <= most) {
            table_.reserve(size_ * size_);
            for (Block a = 0; a < size_; ++a)
                for (Block b = 0; b < size_; ++b)
                    table_.push_back(blocks.distance(a, b));
        }
        starts_.push_back(0);
        for (const auto& group : blocks.machine.groups)
            starts_.push_back(starts_.back() + group.back() + 1U);
        sums_.assign(starts_.back(), 0);
        own_.assign(size_, 0);
        outer_costs_.assign(blocks.machine.matrix.empty() ? 0 : blocks.machine.outer_count(), -1);
    }

    void prepare(const std::vector<Connection>& connections) {
        constexpr std::size_t few = 24;
        forget();
        if (connections.size() <= few)
            return;
        added_ = connections;
        for (const Connection& each : connections) {
            own_[each.block] = each.weight;
            for (std::size_t level = 0; level < levels_; ++level)
                sum(level, each.block) += each.weight;
        }
    }

    Weight cost_in(const std::vector<Connection>& connections, Block own) {
        if (!added_.empty())
            return by_groups(own);
        Weight total = 0;
        for (const Connection& each : connections)
            total += each.weight * distance(own, each.block);
        return total;
    }

    Weight gain(const std::vector<Connection>& connections, Weight own_cost, const Connection& target) {
        return own_cost - cost_in(connections, target.block);
    }

  private:
    Weight distance(Block a, Block b) const {
        return table_.empty() ? blocks_.distance(a, b) : table_[a * size_ + b];
    }

    Weight& sum(std::size_t level, Block block) {
        return sums_[starts_[level] + blocks_.machine.groups[level][block]];
    }

    void forget() {
        for (const Connection& each : added_) {
            own_[each.block] = 0;
            for (std::size_t level = 0; level < levels_; ++level)
                sum(level, each.block) = 0;
        }
        added_.clear();
        for (const std::size_t group : known_outer_)
            outer_costs_[group] = -1;
        known_outer_.clear();
    }

    Weight by_groups(Block block) {
        const Machine& machine = blocks_.machine;
        Weight inside = own_[block];
        Weight total = inside * blocks_.inside;
        const std::size_t same_distance = outer_costs_.empty() ? levels_ : levels_ - 1;
        for (std::size_t level = 0; level < same_distance; ++level) {
            const Weight within = sum(level, block);
            total += (within - inside) * machine.distances[level];
            inside = within;
        }
        return outer_costs_.empty() ? total : total + to_other_groups(block);
    }

    // Uses the distances between the outermost groups, which are equal for all blocks of a group.
    Weight to_other_groups(Block block) {
        const Machine& machine = blocks_.machine;
        const std::size_t group = machine.outermost(block);
        if (outer_costs_[group] >= 0)
            return outer_costs_[group];
        Weight total = 0;
        for (const Connection& each : added_)
            if (const std::size_t other = machine.outermost(each.block); other != group)
                total += each.weight * machine.matrix[group * machine.outer_count() + other];
        known_outer_.push_back(group);
        return outer_costs_[group] = total;
    }

    const Blocks& blocks_;
    std::size_t size_;
    std::size_t levels_;
    std::vector<Weight> table_;
    std::vector<std::size_t> starts_;  // index of each level's groups in the sums
    std::vector<Weight> sums_;         // sum of the weights of connections with each group
    std::vector<Weight> own_;          // weight of connections with each block
    std::vector<Weight> outer_costs_;  // cost of a vertex in an outermost group; -1: unknown
    std::vector<std::size_t> known_outer_;
    std::vector<Connection> added_;
};

}  // namespace

void refine_cut(const Graph& graph, const std::vector<Weight>& capacities, Weight slack, const Effort& effort,
                Random& random, Partition& partition) {
    CutCost cost;
    LocalSearch{graph, cost, capacities, slack, effort, partition}.run(random);
}

void refine_mapping(const Graph& graph, const Blocks& blocks, Weight slack, const Effort& effort,
                    Random& random, Partition& partition) {
    DistanceCost cost{blocks};
    LocalSearch{graph, cost, blocks.capacities, slack, effort, partition}.run(random);
}

}  // namespace mpiric::mapper
