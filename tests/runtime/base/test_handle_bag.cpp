// Handles under way come and go by the million, some of them twice; none is lost, however many there are.
#include "base/handle_bag.hpp"

#include <doctest/doctest.h>
#include <map>
#include <random>

namespace {

TEST_CASE("each entry is taken as often as it was put") {
    static mpiric::HandleBag<int> bag;
    std::multimap<uint64_t, int> expected;
    std::mt19937_64 random(7);
    for (int step = 0; step < 200'000; ++step) {
        const uint64_t handle = random() % 60;
        if (random() % 2) {
            CHECK(bag.put(handle, step));
            expected.emplace(handle, step);
        } else {
            int value = -1;
            CHECK(bag.take(handle, value) == (expected.count(handle) > 0));
            for (auto [at, end] = expected.equal_range(handle); at != end; ++at)
                if (at->second == value) {
                    expected.erase(at);
                    break;
                }
        }
        CHECK(bag.empty() == expected.empty());
    }
}

TEST_CASE("it grows") {
    static mpiric::HandleBag<int> bag;
    constexpr int many = 300'000;
    for (int at = 0; at < many; ++at)
        CHECK(bag.put(uint64_t(at) * 64, at));
    for (int at = 0; at < many; ++at) {
        int value = -1;
        CHECK(bag.take(uint64_t(at) * 64, value));
        CHECK(value == at);
    }
    CHECK(bag.empty());
}

}  // namespace
