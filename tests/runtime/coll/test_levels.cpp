// Which tree the ranks of a node make by where they sit.
#include "coll/levels.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace mpiric;
using namespace mpiric::coll;

namespace {

/// Two packages of two domains, with the given number of ranks in each domain.
std::vector<Seat> blocks(int each) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < 4 * each; ++rank)
        seats.push_back({rank / each, rank / each / 2});
    return seats;
}

Levels arranged(const std::vector<Seat>& seats) {
    Levels levels{seats.size()};
    levels.arrange(seats);
    return levels;
}

bool is(const Tree& tree, int parent, const std::vector<int>& children) {
    return tree.parent == parent && std::ranges::equal(tree.children, children);
}

TEST_CASE("each leader leads the next smaller groups") {
    Levels levels = arranged(blocks(2));
    CHECK(levels.depth() == 3);
    CHECK(levels.consecutive());
    CHECK(is(levels.tree(0, 0), -1, {1, 2, 4}));
    CHECK(is(levels.tree(0, 1), 0, {}));
    CHECK(is(levels.tree(0, 2), 0, {3}));
    CHECK(is(levels.tree(0, 4), 0, {5, 6}));
    CHECK(is(levels.tree(0, 6), 4, {7}));
}

TEST_CASE("a root leads its groups") {
    Levels levels = arranged(blocks(2));
    CHECK(is(levels.tree(7, 7), -1, {0, 4, 6}));
    CHECK(is(levels.tree(7, 6), 7, {}));
    CHECK(is(levels.tree(7, 4), 7, {5}));
    CHECK(is(levels.tree(7, 0), 7, {1, 2}));
}

TEST_CASE("every rank but the root is a child of its parent") {
    for (int spread = 1; spread <= 5; ++spread) {
        std::vector<Seat> seats;
        for (int rank = 0; rank < 13; ++rank)
            seats.push_back({rank * spread % 5, rank * spread % 5 / 2});
        Levels levels = arranged(seats);
        for (int root = 0; root < 13; ++root) {
            std::vector<int> parents(13), led(13, -1);
            for (int rank = 0; rank < 13; ++rank) {
                const Tree& tree = levels.tree(root, rank);
                parents[size_t(rank)] = tree.parent;
                for (const int child : tree.children)
                    led[size_t(child)] = rank;
            }
            CHECK(parents == led);
            CHECK(parents[size_t(root)] == -1);
        }
    }
}

TEST_CASE("ranks in turns do not follow one another") {
    const Levels levels = arranged({{0, 0}, {1, 1}, {0, 0}, {1, 1}});
    CHECK(levels.depth() == 2);
    CHECK(!levels.consecutive());
}

TEST_CASE("a level that one rank does not know is ignored") {
    std::vector<Seat> seats = blocks(2);
    seats[3].domain = -1;
    Levels levels = arranged(seats);
    CHECK(levels.depth() == 2);
    CHECK(is(levels.tree(0, 4), 0, {5, 6, 7}));
    seats[5].package = -1;
    levels.arrange(seats);
    CHECK(levels.depth() == 1);
    CHECK(levels.consecutive());
    CHECK(is(levels.tree(1, 1), -1, {0, 2, 3, 4, 5, 6, 7}));
}

TEST_CASE("groups of one rank do not form a level") {
    CHECK(arranged(blocks(1)).depth() == 2);
    CHECK(arranged({{0, 0}, {1, 0}, {2, 0}}).depth() == 1);
    CHECK(arranged({{0, 0}}).depth() == 1);
}

TEST_CASE("packages may be within domains") {
    Levels levels = arranged({{0, 0}, {0, 0}, {0, 1}, {0, 1}});
    CHECK(levels.depth() == 2);
    CHECK(is(levels.tree(0, 2), 0, {3}));
    // As virtual machines say: a package for each CPU.
    levels = arranged({{0, 0}, {0, 1}, {1, 2}, {1, 3}});
    CHECK(levels.depth() == 2);
    CHECK(is(levels.tree(0, 2), 0, {3}));
}

}  // namespace
