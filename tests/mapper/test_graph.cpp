#include "graphs.hpp"

#include <doctest/doctest.h>

using namespace mpiric::mapper;
using namespace mpiric::mapper::testing;

TEST_CASE("contracting adds up parallel edges and leaves out inner ones") {
    const Graph square = graph_of(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
    const Graph pairs = contract(square, {0, 0, 1, 1}, 2, 1);
    REQUIRE(pairs.size() == 2);
    CHECK(pairs.vertex_weights == std::vector<Weight>{2, 2});
    REQUIRE(pairs.arcs_of(0).size() == 1);
    CHECK(pairs.arcs_of(0)[0].weight == 2);
    CHECK(pairs.arcs_of(0)[0].target == 1);
}

TEST_CASE("a piece keeps the edges inside it and knows its vertices") {
    const auto pieces = split(graph_of(4, {{0, 1}, {1, 2}, {2, 3}}), {0, 1, 1, 0}, 2);
    CHECK(pieces[0].vertices == std::vector<Vertex>{0, 3});
    CHECK(pieces[0].graph.arcs.empty());
    CHECK(pieces[1].graph.arcs_of(0).size() == 1);
}

TEST_CASE("a cut edge counts once") {
    CHECK(cut(grid({4, 4}, false), {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}) == 4);
}

TEST_CASE("the distance of two slots is the distance within their closest common group") {
    const Machine machine = Machine::uniform({4, 2, 2}, {1, 10, 100});
    CHECK(machine.distance(0, 0) == 0);
    CHECK(machine.distance(0, 3) == 1);
    CHECK(machine.distance(3, 4) == 10);
    CHECK(machine.distance(7, 8) == 100);
}

TEST_CASE("a matrix takes the place of the outermost distance") {
    Machine machine = Machine::uniform({2, 3}, {1, 10});
    machine.matrix = {0, 5, 7, 5, 0, 6, 7, 6, 0};
    CHECK(machine.distance(0, 1) == 1);
    CHECK(machine.distance(1, 5) == 7);
    CHECK(blocks_of_one_each(machine).distance(1, 2) == 6);
}

TEST_CASE("paths in the tree give the distances of the machine, also of nodes that differ in size") {
    Machine uneven{
        9,
        {{0, 0, 0, 1, 2, 2, 3, 3, 3}, {0, 0, 0, 0, 1, 1, 1, 1, 1}, std::vector<std::uint32_t>(9, 0)},
        {1, 10, 100},
        {}};
    for (const Machine& machine :
         {uneven, Machine::uniform({3, 5, 2}, {1, 4, 9}), Machine::uniform({8}, {2})}) {
        const TreePaths paths{machine};
        REQUIRE(paths.are_complete());
        for (std::size_t a = 0; a < machine.slots; ++a)
            for (std::size_t b = 0; b < machine.slots; ++b)
                REQUIRE(paths.distance(paths.of(a), paths.of(b)) == machine.distance(a, b));
    }
    uneven.matrix = {0, 5, 5, 0};
    CHECK(!TreePaths{uneven}.are_complete());
}
