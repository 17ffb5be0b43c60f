// Local search with hill climbing from one border vertex at a time (Fiduccia, Mattheyses 1982; localised:
// Osipov, Sanders 2010). Moves may increase the cost at first; moves after the best state are reverted.
// O(degree) per gain.
#pragma once

#include "partition/partition.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace mpiric::mapper {

struct Connection {
    Block block;
    Weight weight;
};

// `Cost::prepare(connections)` sets the connections of the next calls; `Cost::here(connections, own)` is the
// cost (or saving) of a vertex with these connections at its place; `Cost::gain(connections, here, target)`
// is the reduction of the cost by a move to the block of a connection.
template <class Cost> class LocalSearch {
  public:
    LocalSearch(const Graph& graph, Cost& cost, const std::vector<Weight>& capacities, Weight slack,
                const Effort& effort, Partition& partition)
        : graph_{graph}, cost_{cost}, capacities_{capacities}, slack_{slack}, effort_{effort},
          partition_{partition}, loads_{loads(graph, partition, capacities.size())},
          is_moved_(graph.size(), 0), keys_(graph.size(), 0), is_keyed_(graph.size(), 0),
          position_(capacities.size(), absent) {}

    // Sweeps over the border until a sweep lowers the cost by less than 0.01 %.
    void run(Random& random) {
        Weight total = 0;
        for (std::size_t round = 0; round < effort_.rounds && !effort_.is_over(); ++round) {
            std::vector<Vertex> seeds = border();
            random.shuffle(seeds);
            std::fill(is_moved_.begin(), is_moved_.end(), 0);
            Weight gained = greedy(seeds);
            scanned_ = 0;
            for (const Vertex seed : seeds)
                if (is_moved_[seed] == 0 && scanned_ < most_scanned())
                    gained += search(seed);
            total += gained;
            if (gained <= total / 1000)
                break;
        }
    }

  private:
    static constexpr std::uint32_t absent = ~0U;

    struct Move {
        Weight gain;
        Block target;
        bool is_possible;
    };
    struct Entry {
        Weight gain;
        Vertex vertex;
        bool operator<(const Entry& other) const {
            return gain != other.gain ? gain < other.gain : vertex > other.vertex;
        }
    };
    struct Done {
        Vertex vertex;
        Block from;
    };

    std::vector<Vertex> border() const {
        std::vector<Vertex> found;
        for (Vertex v = 0; v < graph_.size(); ++v)
            for (const Arc& arc : graph_.arcs_of(v))
                if (partition_[arc.target] != partition_[v]) {
                    found.push_back(v);
                    break;
                }
        return found;
    }

    bool is_above(Block b) const { return loads_[b] > capacities_[b]; }

    std::size_t most_scanned() const {
        return effort_.scans == 0
                   ? ~std::size_t{0}
                   : static_cast<std::size_t>(effort_.scans * static_cast<double>(graph_.arcs.size()));
    }

    // Variant for limited time: moves each vertex once to the block with the largest gain.
    Weight greedy(const std::vector<Vertex>& seeds) {
        Weight gained = 0;
        for (const Vertex v : seeds)
            if (effort_.scans > 0)
                if (const Move move = best_move(v);
                    move.is_possible && move.gain > 0 &&
                    loads_[move.target] + graph_.vertex_weights[v] <= capacities_[move.target]) {
                    shift(v, move.target);
                    gained += move.gain;
                }
        return gained;
    }

    void connect(Vertex v) {
        connections_.clear();
        scanned_ += graph_.arcs_of(v).size();
        for (const Arc& arc : graph_.arcs_of(v)) {
            const Block b = partition_[arc.target];
            if (position_[b] == absent) {
                position_[b] = static_cast<std::uint32_t>(connections_.size());
                connections_.push_back({b, 0});
            }
            connections_[position_[b]].weight += arc.weight;
        }
        for (const Connection& each : connections_)
            position_[each.block] = absent;
    }

    Move best_move(Vertex v) {
        connect(v);
        const Block own = partition_[v];
        const Weight weight = graph_.vertex_weights[v];
        cost_.prepare(connections_);
        const Weight own_cost = cost_.cost_in(connections_, own);
        Move best{std::numeric_limits<Weight>::min(), own, false};
        for (const Connection& each : connections_) {
            if (each.block == own || loads_[each.block] + weight > capacities_[each.block] + slack_)
                continue;
            const Weight gain = cost_.gain(connections_, own_cost, each);
            const bool is_lighter = gain == best.gain && loads_[each.block] - capacities_[each.block] <
                                                             loads_[best.target] - capacities_[best.target];
            if (gain > best.gain || is_lighter)
                best = {gain, each.block, true};
        }
        return best;
    }

    void offer(Vertex v) {
        if (is_moved_[v] != 0)
            return;
        const Move move = best_move(v);
        if (!move.is_possible || (is_keyed_[v] != 0 && keys_[v] == move.gain))
            return;
        keyed_.push_back(v);
        is_keyed_[v] = 1;
        keys_[v] = move.gain;
        queue_.push({move.gain, v});
    }

    void shift(Vertex v, Block to) {
        const Weight weight = graph_.vertex_weights[v];
        const Block own = partition_[v];
        const auto above = [&](Block b) { return std::max<Weight>(0, loads_[b] - capacities_[b]); };
        above_ -= above(own) + above(to);
        loads_[own] -= weight;
        loads_[to] += weight;
        above_ += above(own) + above(to);
        partition_[v] = to;
    }

    // Vertices of blocks with room wait while another block exceeds its capacity.
    Weight search(Vertex seed) {
        const Weight above_at_first = above_;
        Weight gained = 0;
        Weight best = 0;
        std::size_t kept = 0;
        done_.clear();
        waiting_.clear();
        offer(seed);
        while (!queue_.empty() && done_.size() < kept + effort_.fruitless_moves && waiting_.size() < 64) {
            const Entry entry = queue_.top();
            queue_.pop();
            const Vertex v = entry.vertex;
            if (is_moved_[v] != 0 || is_keyed_[v] == 0 || keys_[v] != entry.gain)
                continue;
            if (above_ > 0 && !is_above(partition_[v])) {
                waiting_.push_back(entry);
                continue;
            }
            is_keyed_[v] = 0;
            const Move move = best_move(v);
            if (!move.is_possible)
                continue;
            if (move.gain != entry.gain) {
                offer(v);
                continue;
            }
            apply(v, move.target);
            gained += move.gain;
            if (above_ <= above_at_first && gained > best) {
                best = gained;
                kept = done_.size();
            }
        }
        take_back(kept);
        return best;
    }

    void apply(Vertex v, Block target) {
        done_.push_back({v, partition_[v]});
        is_moved_[v] = 1;
        shift(v, target);
        const auto arcs = graph_.arcs_of(v);
        constexpr std::size_t hub = 500;
        if (arcs.size() <= hub)
            for (const Arc& arc : arcs)
                if (graph_.arcs_of(arc.target).size() <= hub)
                    offer(arc.target);
        for (const Entry& entry : waiting_)
            queue_.push(entry);
        waiting_.clear();
    }

    void take_back(std::size_t kept) {
        while (done_.size() > kept) {
            shift(done_.back().vertex, done_.back().from);
            done_.pop_back();
        }
        for (const Vertex v : keyed_)
            is_keyed_[v] = 0;
        keyed_.clear();
        queue_ = {};
    }

    const Graph& graph_;
    Cost& cost_;
    const std::vector<Weight>& capacities_;
    Weight slack_;
    const Effort& effort_;
    Partition& partition_;
    std::vector<Weight> loads_;
    std::vector<char> is_moved_;  // vertices moved in this sweep
    std::vector<Weight> keys_;    // gain in the queue
    std::vector<char> is_keyed_;
    std::vector<std::uint32_t> position_;  // index of a block in the connections
    std::vector<Connection> connections_;
    std::priority_queue<Entry> queue_;
    std::vector<Entry> waiting_;
    std::vector<Vertex> keyed_;
    std::vector<Done> done_;
    std::size_t scanned_ = 0;  // arcs scanned in this sweep
    Weight above_ = 0;         // weight above the capacities, minus the initial one
};

}  // namespace mpiric::mapper
