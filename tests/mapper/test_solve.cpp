#include "graphs.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

using namespace mpiric::mapper;
using namespace mpiric::mapper::testing;

TEST_CASE("an order is the same whatever the number of threads") {
    const Problem given =
        problem(grid({6, 6, 6}, false, shuffled(216)), Machine::uniform({6, 6, 6}, {1, 10, 100}), 0);
    for (const Preset preset : {Preset::fast, Preset::eco}) {
        const Slots alone = solve(given, {preset, Objective::hop_bytes, 7, 1, 0}).slot_of;
        CHECK(alone == solve(given, {preset, Objective::hop_bytes, 7, 3, 0}).slot_of);
        CHECK(is_permutation(alone));
    }
}

TEST_CASE("an order is never worse than the one given") {
    const Machine machine = Machine::uniform({4, 4, 4}, {1, 10, 100});
    for (const bool is_shuffled : {false, true}) {
        const Graph graph = grid({64}, false, is_shuffled ? shuffled(64) : std::vector<std::size_t>{});
        const Problem given = problem(graph, machine, 0);
        const Solution found = solve(given, {});
        CHECK(hop_bytes(graph, machine, found.slot_of) <= hop_bytes(graph, machine, given.given));
        if (!is_shuffled)
            CHECK(found.slot_of == given.given);
    }
}

TEST_CASE("the order given stays where all slots are equally far apart") {
    const Problem given = problem(grid({32, 32}, false), Machine::uniform({1024}, {1}), 0);
    CHECK(solve(given, {}).slot_of == given.given);
}

TEST_CASE("a shuffled line is found again") {
    const Machine machine = Machine::uniform({4, 4, 4}, {1, 10, 100});
    const Graph line = grid({64}, false);
    const Graph graph = grid({64}, false, shuffled(64));
    Slots in_order(64);
    std::iota(in_order.begin(), in_order.end(), 0U);
    const Solution found = solve(problem(graph, machine, 0), {});
    CHECK(hop_bytes(graph, machine, found.slot_of) == hop_bytes(line, machine, in_order));
}

TEST_CASE("a shuffled grid is mapped as well as one in its order") {
    const Machine machine = Machine::uniform({16, 16}, {1, 10});
    const Graph graph = grid({16, 16}, true, shuffled(256));
    const Solution found = solve(problem(graph, machine, 0), {Preset::fast, Objective::hop_bytes, 1, 1, 0});
    CHECK(is_permutation(found.slot_of));
    CHECK(hop_bytes(graph, machine, found.slot_of) == 16 * (16 * 10 + 48 * 1));
}

TEST_CASE("slots with room for several ranks are not overfilled") {
    const Graph graph = grid({25, 20}, false);
    const Machine machine = Machine::uniform({4, 8}, {1, 10});
    const Solution found = solve(problem(graph, machine, 17), {});
    CHECK(measure(graph, machine, found.slot_of).heaviest_slot <= 17);
}

TEST_CASE("nodes of different sizes get as many ranks as they have slots") {
    const Machine machine{
        10, {{0, 0, 0, 1, 1, 1, 1, 1, 2, 2}, std::vector<std::uint32_t>(10, 0)}, {1, 10}, {}};
    CHECK(is_permutation(solve(problem(grid({10}, false, shuffled(10)), machine, 0), {}).slot_of));
}

// Nodes in a line: a link to the right and one to the left between neighbours.
Routes line_of_nodes(std::size_t nodes) {
    Routes routes{0, nodes, std::vector<Weight>(2 * (nodes - 1), Routes::own_link), {0}, {}};
    for (std::size_t a = 0; a < nodes; ++a)
        for (std::size_t b = 0; b < nodes; ++b) {
            for (std::size_t at = std::min(a, b); at < std::max(a, b); ++at)
                routes.links.push_back(static_cast<std::uint32_t>(2 * at + (a < b ? 0 : 1)));
            routes.starts.push_back(routes.links.size());
        }
    return routes;
}

TEST_CASE("the busiest link of the network gets lighter, also where each slot is a node") {
    for (const std::size_t ranks_per_node : {std::size_t{1}, std::size_t{2}}) {
        const std::size_t nodes = 8;
        Problem given = problem(grid({nodes * ranks_per_node}, false, shuffled(nodes * ranks_per_node)),
                                Machine::uniform({ranks_per_node, nodes}, {1, 10}), 0);
        given.routes = line_of_nodes(nodes);
        const Settings settings{Preset::fast, Objective::worst_link, 1, 1, 0};
        const Solution found = solve(given, settings);
        const auto worst = [&](const Slots& slots) {
            return worst_link(given.graph, given.machine, given.routes, slots);
        };
        CHECK(is_permutation(found.slot_of));
        // In a line in its order two units leave a node; local search may need twice as many.
        CHECK(worst(found.slot_of) <= 4 * Routes::own_link);
        CHECK(worst(given.given) > worst(found.slot_of));
    }
}

TEST_CASE("ranks that use a shared resource are spread over the nodes") {
    Problem given = problem(grid({4, 4}, false), Machine::uniform({4, 4}, {1, 10}), 0);
    given.resource = {0, {5, 5, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
    const Solution found = solve(given, {});
    CHECK(is_permutation(found.slot_of));
    CHECK(heaviest_use(given.machine, given.resource, given.given) == 20);
    CHECK(heaviest_use(given.machine, given.resource, found.slot_of) == 5);
}

TEST_CASE("an order is found within no time at all") {
    const Problem given =
        problem(grid({16, 16}, false, shuffled(256)), Machine::uniform({4, 8, 8}, {1, 10, 100}), 0);
    const Slots found = solve(given, {Preset::strong, Objective::hop_bytes, 1, 2, 1e-6}).slot_of;
    CHECK(is_permutation(found));
    CHECK(hop_bytes(given.graph, given.machine, found) <= hop_bytes(given.graph, given.machine, given.given));
    const Problem loose = problem(grid({40, 25}, false), Machine::uniform({4, 8}, {1, 10}), 33);
    const Slots filled = solve(loose, {Preset::strong, Objective::hop_bytes, 1, 1, 1e-6}).slot_of;
    CHECK(measure(loose.graph, loose.machine, filled).heaviest_slot <= 33);
}

TEST_CASE("a file that ends early is refused") {
    const auto path = std::filesystem::temp_directory_path() / "mpiric-mapper-test";
    std::ofstream{path} << "MPIRMAP2 and no more";
    CHECK_THROWS_AS(read_problem(path.string()), ProblemError);
    std::filesystem::remove(path);
    CHECK_THROWS_AS(read_problem(path.string()), ProblemError);
}
