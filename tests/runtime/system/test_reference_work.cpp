#include "base/clock.hpp"
#include "system/reference_work.hpp"

#include <doctest/doctest.h>

using namespace mpiric;

TEST_CASE("the reference work takes some milliseconds, and a pass of it a part of them") {
    const uint64_t begin = now_ns();
    const uint64_t pass = system::reference_work_ns();
    const uint64_t all = now_ns() - begin;
    CHECK(pass > 50'000);
    CHECK(pass < 20'000'000);
    CHECK(all >= pass);
    CHECK(all < 1'000'000'000);
}

TEST_CASE("the shortest pass is repeated closely") {
    uint64_t least = UINT64_MAX, largest = 0;
    for (int at = 0; at < 5; ++at) {
        const uint64_t pass = system::reference_work_ns();
        least = pass < least ? pass : least;
        largest = pass > largest ? pass : largest;
    }
    CHECK(largest < 3 * least);
}
