#include "graphs.hpp"

#include <doctest/doctest.h>

using namespace mpiric::mapper;
using namespace mpiric::mapper::testing;

namespace {
const Effort thorough{.coarsest_per_block = 10,
                      .initial_tries = 4,
                      .fruitless_moves = 50,
                      .rounds = 4,
                      .cycles = 1,
                      .repeats = 4,
                      .combines = 4,
                      .map_cycles = 1,
                      .shrink = 2};
}

TEST_CASE("clusters have at most the allowed weight and stay inside the given blocks") {
    const Graph graph = grid({16, 16}, false);
    Partition halves(256);
    for (std::size_t v = 0; v < 256; ++v)
        halves[v] = v < 128 ? 0 : 1;
    Random random{1};
    std::vector<Vertex> cluster_of;
    const std::size_t count = cluster(graph, 3, 10, &halves, random, cluster_of);
    CHECK(count < 200);
    CHECK(contract(graph, cluster_of, count, 1).largest_vertex() <= 3);
    for (Vertex v = 0; v < 256; ++v)
        for (Vertex w = 0; w < 256; ++w)
            if (cluster_of[v] == cluster_of[w])
                REQUIRE(halves[v] == halves[w]);
}

TEST_CASE("leaves around a hub are merged with each other") {
    std::vector<std::array<std::size_t, 2>> edges;
    for (std::size_t leaf = 1; leaf < 100; ++leaf)
        edges.push_back({0, leaf});
    Random random{1};
    std::vector<Vertex> cluster_of;
    CHECK(cluster(graph_of(100, edges), 2, 10, nullptr, random, cluster_of) < 60);
}

TEST_CASE("balance shifts weight along a chain of blocks to the one with room") {
    const Graph line = grid({9}, false);
    Partition partition{0, 0, 0, 0, 0, 1, 1, 1, 2};
    balance(line, {3, 3, 3}, partition);
    CHECK(loads(line, partition, 3) == std::vector<Weight>{3, 3, 3});
    CHECK(cut(line, partition) == 2);
}

TEST_CASE("a square grid falls into four exact quarters nearly without a longer cut than needed") {
    const Graph graph = grid({16, 16}, false);
    const std::vector<Weight> quarters(4, 64);
    const Partition found = evolve(graph, quarters, thorough, 1, 1);
    CHECK(loads(graph, found, 4) == quarters);
    CHECK(cut(graph, found) <= 36);
}

TEST_CASE("blocks of different capacities are filled") {
    const Graph graph = grid({10, 10}, false);
    const std::vector<Weight> capacities{50, 30, 20};
    CHECK(loads(graph, evolve(graph, capacities, thorough, 1, 1), 3) == capacities);
}

TEST_CASE("a graph in parts without edges is divided too") {
    const Graph graph = graph_of(64, {{0, 1}, {5, 9}});
    const std::vector<Weight> capacities(4, 16);
    const Partition found = evolve(graph, capacities, thorough, 1, 1);
    CHECK(loads(graph, found, 4) == capacities);
    CHECK(cut(graph, found) == 0);
}

TEST_CASE("combining two divisions gives none worse than the better") {
    const Graph graph = grid({16, 16}, false, shuffled(256));
    const std::vector<Weight> capacities(4, 66);
    Random random{5};
    const Partition one = divide(graph, capacities, thorough, random, 1);
    const Partition other = divide(graph, capacities, thorough, random, 1);
    const Partition both = combine(graph, capacities, one, other, thorough, random);
    CHECK(cut_quality(graph, capacities, both) <= cut_quality(graph, capacities, one));
}
