// Handles come and go by the million; the map stays right and does not fill up.
#include "base/handle_map.hpp"

#include <doctest/doctest.h>
#include <map>
#include <random>

namespace {

TEST_CASE("an entry is found until it is erased") {
    static mpiric::HandleMap<int, 64> map;
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

TEST_CASE("a full map refuses") {
    static mpiric::HandleMap<int, 16> map;
    int taken = 0;
    for (uint64_t handle = 1; handle <= 16; ++handle)
        taken += map.put(handle, 0);
    CHECK(taken == 12);
    CHECK(map.put(1, 5));  // an existing entry can still be changed
}

}  // namespace
