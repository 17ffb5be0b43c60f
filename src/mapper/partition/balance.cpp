#include "partition/partition.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace mpiric::mapper {
namespace {

constexpr Weight unreachable = std::numeric_limits<Weight>::max() / 4;

struct Step {
    Weight gain;
    Vertex vertex;
    bool operator<(const Step& other) const {
        return gain != other.gain ? gain < other.gain : vertex > other.vertex;
    }
};

// Chains of moves along the quotient graph, with the cheapest move of a vertex for each pair of blocks.
class Balancer {
  public:
    Balancer(const Graph& graph, const std::vector<Weight>& capacities, Partition& partition)
        : graph_{graph}, capacities_{capacities}, partition_{partition}, blocks_{capacities.size()},
          loads_{loads(graph, partition, blocks_)}, steps_(blocks_ * blocks_), connections_(blocks_, 0),
          known_(blocks_ * blocks_) {
        for (Vertex v = 0; v < graph.size(); ++v)
            offer(v);
    }

    void run() {
        for (std::size_t left = graph_.size() + 16; left > 0 && overload(loads_, capacities_) > 0; --left)
            if (!relieve())
                break;
        while (overload(loads_, capacities_) > 0 && move_any()) {
        }
    }

  private:
    // Cached move between two blocks, and the number of moves at that time.
    struct Known {
        std::size_t moves = 0;
        const Step* step = nullptr;
    };

    void connect(Vertex v) {
        std::fill(connections_.begin(), connections_.end(), 0);
        for (const Arc& arc : graph_.arcs_of(v))
            connections_[partition_[arc.target]] += arc.weight;
    }

    void offer(Vertex v) {
        const Block own = partition_[v];
        bool is_border = false;
        for (const Arc& arc : graph_.arcs_of(v))
            is_border = is_border || partition_[arc.target] != own;
        if (!is_border)
            return;
        connect(v);
        for (Block b = 0; b < blocks_; ++b)
            if (b != own && connections_[b] > 0)
                steps_[own * blocks_ + b].push({connections_[b] - connections_[own], v});
    }

    // Best move from a to b if it is still valid; without one, the next move is awaited.
    const Step* best(Block a, Block b) {
        Known& known = known_[a * blocks_ + b];
        if (known.moves != moves_)
            known = {moves_, look_for_best(a, b)};
        return known.step;
    }

    const Step* look_for_best(Block a, Block b) {
        auto& queue = steps_[a * blocks_ + b];
        while (!queue.empty()) {
            const Step step = queue.top();
            if (partition_[step.vertex] == a) {
                connect(step.vertex);
                const Weight gain = connections_[b] - connections_[a];
                if (gain == step.gain && connections_[b] > 0)
                    return &queue.top();
                queue.pop();
                if (connections_[b] > 0)
                    queue.push({gain, step.vertex});
            } else {
                queue.pop();
            }
        }
        return nullptr;
    }

    // Bellman-Ford from all overloaded blocks at once.
    bool relieve() {
        std::vector<Weight> cost(blocks_, unreachable);
        std::vector<Block> from(blocks_, 0);
        for (Block b = 0; b < blocks_; ++b)
            if (loads_[b] > capacities_[b])
                cost[b] = 0;
        for (std::size_t round = 0; round + 1 < blocks_ || round == 0; ++round)
            for (Block a = 0; a < blocks_; ++a)
                for (Block b = 0; b < blocks_ && cost[a] < unreachable; ++b)
                    if (const Step* step = a == b || loads_[b] > capacities_[b] ? nullptr : best(a, b);
                        step != nullptr && cost[a] - step->gain < cost[b] &&
                        !leads_through(from, cost, b, a)) {
                        cost[b] = cost[a] - step->gain;
                        from[b] = a;
                    }
        Block end = static_cast<Block>(blocks_);
        for (Block b = 0; b < blocks_; ++b)
            if (cost[b] < unreachable && loads_[b] < capacities_[b] &&
                (end == blocks_ || cost[b] < cost[end]))
                end = b;
        return end != blocks_ && move_chain(from, end);
    }

    // Checks whether the chain that ends in `last` passes through `block`: costs may be negative.
    bool leads_through(const std::vector<Block>& from, const std::vector<Weight>& cost, Block block,
                       Block last) const {
        for (std::size_t steps = 0; steps <= blocks_; ++steps) {
            if (last == block)
                return true;
            if (loads_[last] > capacities_[last] || cost[last] >= unreachable)
                return false;
            last = from[last];
        }
        return true;
    }

    bool move_chain(const std::vector<Block>& from, Block end) {
        const Weight before = overload(loads_, capacities_);
        std::vector<std::pair<Vertex, Block>> moved;
        for (Block b = end;;) {
            const Block a = from[b];
            const Step* step = best(a, b);
            if (step == nullptr)
                break;
            const Vertex v = step->vertex;
            moved.emplace_back(v, a);
            move(v, b);
            b = a;
            if (loads_[b] + graph_.vertex_weights[v] > capacities_[b] || moved.size() > blocks_)
                break;
        }
        if (!moved.empty() && overload(loads_, capacities_) < before)
            return true;
        for (auto last = moved.rbegin(); last != moved.rend(); ++last)
            move(last->first, last->second);
        return false;
    }

    void move(Vertex v, Block to) {
        ++moves_;
        loads_[partition_[v]] -= graph_.vertex_weights[v];
        loads_[to] += graph_.vertex_weights[v];
        partition_[v] = to;
        offer(v);
        if (graph_.arcs_of(v).size() > 2000)
            return;
        constexpr std::size_t hub =
            100;  // candidates whose gains change little and are checked again before a move
        for (const Arc& arc : graph_.arcs_of(v))
            if (graph_.arcs_of(arc.target).size() <= hub)
                offer(arc.target);
    }

    // Without a chain to a block with room: moves the vertices with the smallest loss, each to the block with
    // the most room.
    bool move_any() {
        std::vector<Step> candidates;
        for (Vertex v = 0; v < graph_.size(); ++v)
            if (loads_[partition_[v]] > capacities_[partition_[v]]) {
                connect(v);
                candidates.push_back({-connections_[partition_[v]], v});
            }
        std::sort(candidates.rbegin(), candidates.rend());
        bool has_moved = false;
        for (const Step& step : candidates) {
            const Block own = partition_[step.vertex];
            if (loads_[own] <= capacities_[own])
                continue;
            Block roomiest = 0;
            for (Block b = 1; b < blocks_; ++b)
                if (capacities_[b] - loads_[b] > capacities_[roomiest] - loads_[roomiest])
                    roomiest = b;
            if (loads_[roomiest] + graph_.vertex_weights[step.vertex] > capacities_[roomiest])
                continue;
            move(step.vertex, roomiest);
            has_moved = true;
        }
        return has_moved;
    }

    const Graph& graph_;
    const std::vector<Weight>& capacities_;
    Partition& partition_;
    std::size_t blocks_;
    std::vector<Weight> loads_;
    std::vector<std::priority_queue<Step>> steps_;
    std::vector<Weight> connections_;
    std::vector<Known> known_;
    std::size_t moves_ = 1;
};

}  // namespace

Weight overload(const std::vector<Weight>& loads, const std::vector<Weight>& capacities) {
    Weight above = 0;
    for (std::size_t b = 0; b < loads.size(); ++b)
        above += std::max<Weight>(0, loads[b] - capacities[b]);
    return above;
}

void balance(const Graph& graph, const std::vector<Weight>& capacities, Partition& partition) {
    if (overload(loads(graph, partition, capacities.size()), capacities) > 0)
        Balancer{graph, capacities, partition}.run();
}

}  // namespace mpiric::mapper
