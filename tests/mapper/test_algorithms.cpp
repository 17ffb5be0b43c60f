#include "graphs.hpp"

#include <doctest/doctest.h>

using namespace mpiric::mapper;
using namespace mpiric::mapper::testing;

namespace {
const Slots& named(const std::vector<Classic>& orders, std::string_view name) {
    return std::find_if(orders.begin(), orders.end(), [&](const Classic& c) { return c.name == name; })
        ->slot_of;
}
}  // namespace

TEST_CASE("round robin deals the ranks to the nodes, folded turns round at the last") {
    const auto orders = classics(Machine::uniform({3, 2}, {1, 10}));
    CHECK(named(orders, "smp") == Slots{0, 1, 2, 3, 4, 5});
    CHECK(named(orders, "round robin") == Slots{0, 3, 1, 4, 2, 5});
    CHECK(named(orders, "folded") == Slots{0, 3, 4, 1, 2, 5});
}

TEST_CASE("nodes that differ in size are dealt to while they have room") {
    Machine machine{4, {{0, 1, 1, 1}, {0, 0, 0, 0}}, {1, 10}, {}};
    CHECK(named(classics(machine), "round robin") == Slots{0, 1, 2, 3});
}

TEST_CASE("twelve ranks of a periodic grid on a node form a block of 3 x 2 x 2 with 32 faces") {
    const Graph graph = grid({12, 12, 12}, true);
    const Machine machine = Machine::uniform({12, 144}, {1, 10});
    const auto orders = grid_orders({{12, 12, 12}}, machine);
    const Quality rows = measure(graph, machine, named(classics(machine), "smp"));
    const Quality blocks = measure(graph, machine, named(orders, "grid blocks from inside"));
    CHECK(rows.worst_node == 48);  // 50 faces of 12 x 1 x 1, of which the two ends touch each other
    CHECK(blocks.worst_node == 32);
    CHECK(blocks.off_node == 144 * 32 / 2);
}

TEST_CASE("all orders of a grid are permutations") {
    for (const Classic& order : grid_orders({{8, 4, 16}}, Machine::uniform({8, 4, 16}, {1, 2, 3}))) {
        CAPTURE(order.name);
        CHECK(is_permutation(order.slot_of));
    }
}

TEST_CASE("one step along Hilbert's curve is one step on the grid") {
    const Slots slot_of =
        named(grid_orders({{8, 8, 8}}, Machine::uniform({8, 64}, {1, 2})), "Hilbert's curve");
    std::vector<std::size_t> vertex_at(512);
    for (std::size_t v = 0; v < 512; ++v)
        vertex_at[slot_of[v]] = v;
    for (std::size_t i = 1; i < 512; ++i) {
        std::size_t steps = 0;
        for (const std::size_t stride : {1U, 8U, 64U}) {
            const auto a = static_cast<long>(vertex_at[i] / stride % 8);
            const auto b = static_cast<long>(vertex_at[i - 1] / stride % 8);
            steps += static_cast<std::size_t>(std::abs(a - b));
        }
        REQUIRE(steps == 1);
    }
}

TEST_CASE("a grid is known by the differences of its neighbours' numbers") {
    CHECK(find_grid(grid({6, 4, 10}, false)).extents == std::vector<std::size_t>{6, 4, 10});
    CHECK(find_grid(grid({6, 4, 10}, true)).extents == std::vector<std::size_t>{6, 4, 10});
    CHECK(find_grid(grid({6, 4, 10}, false, shuffled(240))).extents.empty());
}

namespace {
// All that touch on a grid are neighbours; vertex v is called names[v].
Graph touching(const std::vector<std::size_t>& extents, bool is_periodic,
               const std::vector<std::size_t>& names) {
    const auto is_near = [&](std::size_t a, std::size_t b) {
        for (const std::size_t extent : extents) {
            const std::size_t steps = std::max(a % extent, b % extent) - std::min(a % extent, b % extent);
            if (steps > 1 && !(is_periodic && steps + 1 == extent))
                return false;
            a /= extent;
            b /= extent;
        }
        return true;
    };
    std::vector<std::array<std::size_t, 2>> edges;
    for (std::size_t a = 0; a < names.size(); ++a)
        for (std::size_t b = a + 1; b < names.size(); ++b)
            if (is_near(a, b))
                edges.push_back({std::min(names[a], names[b]), std::max(names[a], names[b])});
    std::sort(edges.begin(), edges.end());
    return graph_of(names.size(), edges);
}
}  // namespace

TEST_CASE("a grid of which all that touch are neighbours is found whatever the order of its vertices") {
    for (const bool is_periodic : {false, true})
        for (const std::vector<std::size_t>& extents :
             {std::vector<std::size_t>{6, 5}, {5, 6, 7}, {5, 5, 5, 5}}) {
            CAPTURE(extents.size());
            CAPTURE(is_periodic);
            std::size_t size = 1;
            for (const std::size_t extent : extents)
                size *= extent;
            const Graph graph = touching(extents, is_periodic, shuffled(size));
            const HiddenGrid found = find_hidden_grid(graph, 2);
            REQUIRE(found.position.size() == size);
            CHECK(is_permutation(found.position));
            REQUIRE(found.grid.extents.size() == extents.size());
            CHECK(std::is_permutation(extents.begin(), extents.end(), found.grid.extents.begin()));
            for (Vertex v = 0; v < size; ++v)
                for (const Arc& arc : graph.arcs_of(v)) {
                    std::size_t a = found.position[v];
                    std::size_t b = found.position[arc.target];
                    for (auto extent = found.grid.extents.rbegin(); extent != found.grid.extents.rend();
                         a /= *extent, b /= *extent, ++extent) {
                        const std::size_t steps =
                            std::max(a % *extent, b % *extent) - std::min(a % *extent, b % *extent);
                        REQUIRE((steps <= 1 || (is_periodic && steps + 1 == *extent)));
                    }
                }
        }
}

TEST_CASE("a grid is found whatever the order of its vertices") {
    for (const bool is_periodic : {false, true})
        for (const std::vector<std::size_t>& extents :
             {std::vector<std::size_t>{6, 4, 10}, {2, 9}, {3, 3, 5}, {4, 4, 4}, {17}}) {
            CAPTURE(extents.size());
            CAPTURE(is_periodic);
            std::size_t size = 1;
            for (const std::size_t extent : extents)
                size *= extent;
            const Graph graph = grid(extents, is_periodic, shuffled(size));
            const HiddenGrid found = find_hidden_grid(graph, 1);
            REQUIRE(found.position.size() == size);
            CHECK(is_permutation(found.position));
            Graph named;  // the same graph by positions: a grid in its natural order
            named.vertex_weights.assign(size, 1);
            std::vector<Vertex> vertex_at(size);
            for (Vertex v = 0; v < size; ++v)
                vertex_at[found.position[v]] = v;
            for (const Vertex v : vertex_at) {
                for (const Arc& arc : graph.arcs_of(v))
                    named.arcs.push_back({arc.weight, found.position[arc.target]});
                named.offsets.push_back(named.arcs.size());
            }
            CHECK(is_grid(named, found.grid.extents));
        }
}

TEST_CASE(
    "a grid is found under small messages between all ranks, and other graphs are not taken for grids") {
    std::vector<std::size_t> names = shuffled(64);
    Graph graph = grid({8, 8}, false, names);
    for (Arc& arc : graph.arcs)
        arc.weight = 1000;
    Graph noisy;
    noisy.vertex_weights = graph.vertex_weights;
    for (Vertex v = 0; v < 64; ++v) {
        for (const Arc& arc : graph.arcs_of(v))
            noisy.arcs.push_back(arc);
        noisy.arcs.push_back({8, (v + 32) % 64});
        noisy.offsets.push_back(noisy.arcs.size());
    }
    CHECK(is_permutation(find_hidden_grid(noisy, 1).position));
    CHECK(find_hidden_grid(graph_of(4, {{0, 1}, {0, 2}, {0, 3}}), 1).position.empty());
    CHECK(find_hidden_grid(graph_of(5, {{0, 1}, {1, 2}, {2, 0}, {3, 4}}), 1).position.empty());
    std::vector<std::array<std::size_t, 2>> chord{{0, 5}};
    for (std::size_t v = 0; v < 11; ++v)
        chord.push_back({v, v + 1});
    CHECK(find_hidden_grid(graph_of(12, chord), 1).position.empty());
}

TEST_CASE("exchanges relieve the busiest link and keep one rank a slot") {
    const Graph graph = grid({8, 8}, false, shuffled(64));
    const Machine machine = Machine::uniform({8, 8}, {1, 10});
    const Problem given = problem(graph, machine, 0);
    Settings settings;
    settings.objective = Objective::worst_link;
    const Solution found = solve(given, settings);
    CHECK(is_permutation(found.slot_of));
    CHECK(measure(graph, machine, found.slot_of).worst_link <
          measure(graph, machine, given.given).worst_link);
}
