#include "solve.hpp"

#include "parallel.hpp"

#include <algorithm>

namespace mpiric::mapper {
namespace {

Effort effort_of(Preset preset, const Graph& graph) {
    const bool is_large = graph.size() > 200'000 || graph.arcs.size() > 2'000'000;
    switch (preset) {
    case Preset::fast:
        return {.coarsest_per_block = 20,
                .initial_tries = is_large ? 1U : 2U,
                .fruitless_moves = is_large ? 8U : 25U,
                .rounds = is_large ? 1U : 2U,
                .scans = is_large ? 0.5 : 8.0,
                .cycles = 0,
                .repeats = is_large ? 1U : 3U,
                .combines = is_large ? 0U : 4U,
                .map_cycles = is_large ? 0U : 1U,
                .shrink = 2.5};
    case Preset::eco:
        return {.coarsest_per_block = 20,
                .initial_tries = is_large ? 2U : 4U,
                .fruitless_moves = is_large ? 25U : 60U,
                .rounds = is_large ? 2U : 4U,
                .scans = is_large ? 2.0 : 4.0,
                .cycles = 0,
                .repeats = is_large ? 1U : 8U,
                .combines = is_large ? 0U : 16U,
                .map_cycles = is_large ? 1U : 2U,
                .shrink = 2.2};
    case Preset::strong:
        return {.coarsest_per_block = 20,
                .initial_tries = 12,
                .fruitless_moves = 100,
                .rounds = 6,
                .scans = 16.0,
                .cycles = 0,
                .repeats = is_large ? 4U : 32U,
                .combines = is_large ? 8U : 160U,
                .map_cycles = 6,
                .shrink = 2.0};
    }
    return {};
}

Effort effort_within(const Settings& settings, const Graph& graph) {
    Effort effort = effort_of(settings.preset, graph);
    if (settings.limit_s > 0)
        effort.deadline = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(settings.limit_s));
    return effort;
}

// Vertices of a block take its slots in their own order, because all orders inside a block cost the same.
Slots slots_of(const Blocks& blocks, const Partition& partition) {
    std::vector<std::size_t> next(blocks.starts.begin(), blocks.starts.end() - 1);
    Slots slot_of(partition.size());
    for (std::size_t v = 0; v < partition.size(); ++v) {
        std::size_t& slot = next[partition[v]];
        slot_of[v] = static_cast<std::uint32_t>(slot);
        if (blocks.starts[partition[v] + 1] - blocks.starts[partition[v]] > 1)
            ++slot;
    }
    return slot_of;
}

Partition blocks_of(const Blocks& blocks, const Slots& slot_of) {
    std::vector<Block> block_of;
    for (Block b = 0; b < blocks.size(); ++b)
        block_of.resize(blocks.starts[b + 1], b);
    Partition partition;
    partition.reserve(slot_of.size());
    for (const std::uint32_t slot : slot_of)
        partition.push_back(block_of[slot]);
    return partition;
}

// Returns the slots of vertices on a grid in some order.
Slots at_positions(const Slots& slot_of, const std::vector<Vertex>& position) {
    Slots found(position.size());
    for (std::size_t v = 0; v < position.size(); ++v)
        found[v] = slot_of[position[v]];
    return found;
}

class Solver {
  public:
    Solver(const Problem& problem, const Settings& settings)
        : problem_{problem}, settings_{settings}, effort_{effort_within(settings, problem.graph)},
          blocks_{problem.capacity > 0 ? blocks_with_capacity(problem.machine, problem.capacity)
                                       : blocks_of_one_each(problem.machine)} {}

    Solution run() {
        propose("given", problem_.given);
        const bool is_flat = problem_.capacity == 0 && problem_.machine.groups.size() < 2;
        if (is_flat && problem_.resource.use_of.empty())
            return std::move(best_);  // all slots have the same distance
        Partition partition;
        std::vector<Proposal> known;
        for_each_index(2, settings_.threads, [&](std::size_t i) {
            if (i == 0) {
                partition = multisect(problem_.graph, blocks_, effort_, settings_.seed, settings_.threads);
                iterate(problem_.graph, blocks_, effort_, settings_.seed, settings_.threads, partition);
            } else if (problem_.capacity == 0) {
                known = known_orders();
            }
        });
        for (Proposal& each : known)
            take(std::move(each));
        const Slots start = best_.slot_of;
        propose("multisection", slots_of(blocks_, partition));
        if (best_.slot_of == start && is_within(start)) {
            partition = blocks_of(blocks_, start);
            iterate(problem_.graph, blocks_, effort_, settings_.seed, settings_.threads, partition);
            propose(best_.algorithm + ", refined", slots_of(blocks_, partition));
        }
        if (settings_.objective == Objective::worst_link)
            relieve();
        if (!problem_.resource.use_of.empty())
            share();
        return std::move(best_);
    }

  private:
    struct Proposal {
        std::string name;
        Slots slot_of;
        double cost;
        Weight above;  // weight above the capacities and the fair use of a resource
    };

    std::vector<Proposal> known_orders() const {
        std::vector<Classic> orders = classics(problem_.machine);
        const Grid grid = problem_.grid.extents.empty() ? find_grid(problem_.graph) : problem_.grid;
        HiddenGrid hidden;
        if (grid.extents.empty())
            hidden = find_hidden_grid(problem_.graph, settings_.threads);
        for (Classic& order : grid_orders(grid.extents.empty() ? hidden.grid : grid, problem_.machine)) {
            if (!hidden.position.empty())
                order.slot_of = at_positions(order.slot_of, hidden.position);
            orders.push_back(std::move(order));
        }
        std::vector<Proposal> found;
        found.reserve(orders.size());
        for (Classic& order : orders)
            found.push_back(judged(order.name, std::move(order.slot_of), 1));
        return found;
    }

    bool is_within(const Slots& slot_of) const {
        return overload(loads(problem_.graph, blocks_of(blocks_, slot_of), blocks_.size()),
                        blocks_.capacities) == 0;
    }

    double cost(const Slots& slot_of, unsigned threads) const {
        if (settings_.objective == Objective::worst_link)
            return worst_link(problem_.graph, problem_.machine, problem_.routes, slot_of);
        return hop_bytes(problem_.graph, problem_.machine, slot_of, threads);
    }

    // The first of equal proposals is kept, so that the initial order changes only for a gain; an order with
    // overloaded slots is used only as long as no other is known.
    void propose(const std::string& name, Slots slot_of) {
        take(judged(name, std::move(slot_of), settings_.threads));
    }

    Proposal judged(const std::string& name, Slots slot_of, unsigned threads) const {
        const Weight above =
            overload(loads(problem_.graph, blocks_of(blocks_, slot_of), blocks_.size()), blocks_.capacities) +
            unfairness(slot_of);
        const double reached = cost(slot_of, threads);
        return {name, std::move(slot_of), reached, above};
    }

    void take(Proposal proposal) {
        best_.proposals.emplace_back(proposal.name, proposal.cost);
        if (shortest_.empty() || proposal.cost < shortest_cost_) {
            shortest_ = proposal.slot_of;
            shortest_cost_ = proposal.cost;
        }
        if (best_.slot_of.empty() || proposal.above < above_ ||
            (proposal.above == above_ && proposal.cost < cost_)) {
            best_.slot_of = std::move(proposal.slot_of);
            best_.algorithm = std::move(proposal.name);
            cost_ = proposal.cost;
            above_ = proposal.above;
        }
    }

    // Returns the largest use of the resource above its fair use.
    Weight unfairness(const Slots& slot_of) const {
        if (problem_.resource.use_of.empty())
            return 0;
        return std::max<Weight>(0, heaviest_use(problem_.machine, problem_.resource, slot_of) -
                                       fair_use(problem_.machine, problem_.resource));
    }

    void share() {
        for (Slots slot_of : {best_.slot_of, shortest_}) {
            spread(problem_.graph, problem_.machine, problem_.resource, effort_, settings_.seed, slot_of);
            propose("spread", slot_of);
        }
    }

    void relieve() {
        Partition partition = blocks_of(blocks_, best_.slot_of);
        relieve_links(problem_.graph, blocks_, problem_.routes, effort_, settings_.seed, partition);
        propose(best_.algorithm + ", links relieved", slots_of(blocks_, partition));
    }

    const Problem& problem_;
    const Settings& settings_;
    Effort effort_;
    Blocks blocks_;
    Solution best_;
    double cost_ = 0;
    Weight above_ = 0;
    Slots shortest_;  // shortest order without regard to the resource
    double shortest_cost_ = 0;
};

}  // namespace

Solution solve(const Problem& problem, const Settings& settings) { return Solver{problem, settings}.run(); }

}  // namespace mpiric::mapper
