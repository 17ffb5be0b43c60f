#include "graphs.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

using namespace mpiric::mapper;
using namespace mpiric::mapper::testing;

TEST_CASE("an order is the same whatever the number of threads") {
    const Problem given =
        problem(grid({8, 8, 8}, false, shuffled(512)), Machine::uniform({8, 8, 8}, {1, 10, 100}), 0);
    for (const Preset preset : {Preset::fast, Preset::eco}) {
        const Slots alone = solve(given, {preset, Objective::hop_bytes, 7, 1}).slot_of;
        CHECK(alone == solve(given, {preset, Objective::hop_bytes, 7, 3}).slot_of);
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

TEST_CASE("slots with room for several ranks are not overfilled") {
    const Graph graph = grid({40, 25}, false);
    const Machine machine = Machine::uniform({4, 8}, {1, 10});
    const Solution found = solve(problem(graph, machine, 33), {});
    CHECK(measure(graph, machine, found.slot_of).heaviest_slot <= 33);
}

TEST_CASE("nodes of different sizes get as many ranks as they have slots") {
    const Machine machine{
        10, {{0, 0, 0, 1, 1, 1, 1, 1, 2, 2}, std::vector<std::uint32_t>(10, 0)}, {1, 10}, {}};
    CHECK(is_permutation(solve(problem(grid({10}, false, shuffled(10)), machine, 0), {}).slot_of));
}

TEST_CASE("a file that ends early is refused") {
    const auto path = std::filesystem::temp_directory_path() / "mpiric-mapper-test";
    std::ofstream{path} << "MPIRMAP1 and no more";
    CHECK_THROWS_AS(read_problem(path.string()), ProblemError);
    std::filesystem::remove(path);
    CHECK_THROWS_AS(read_problem(path.string()), ProblemError);
}
