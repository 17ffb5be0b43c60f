// Handles come and go by the million; the map stays right.
#include "base/handle_bag.hpp"

#include <doctest/doctest.h>
#include <map>
#include <random>

namespace {

TEST_CASE("an entry is found until it is erased") {
    static mpiric::HandleMap<int> map;
    std::map<uint64_t, int> expected;
    std::mt19937_64 random(7);
    for (int step = 0; step < 200'000; ++step) {
        const uint64_t handle = random() % 60;
        if (random() % 2) {
            if (map.put(handle, step))
                expected[handle] = step;
        } else {
            map.erase(handle);
            expected.erase(handle);
        }
        const uint64_t asked = random() % 60;
        int value = -1;
        const bool found = map.get(asked, value);
        CHECK(found == (expected.count(asked) == 1));
        CHECK((!found || value == expected[asked]));
    }
}

TEST_CASE("an entry can be changed") {
    static mpiric::HandleMap<int> map;
    int value = 0;
    CHECK((map.put(1, 4) && map.put(1, 5)));
    CHECK((map.get(1, value) && value == 5));
    map.erase(1);
    CHECK(!map.get(1, value));
}

}  // namespace
