// Our own mathematics agrees with libm's.
#include "base/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>

using namespace mpiric;

TEST_CASE("logarithms and roots agree with libm") {
    for (double value = 1e-12; value < 1e12; value *= 1.37) {
        CHECK(std::abs(logarithm(value) - std::log(value)) <=
              4e-15 * std::max(1.0, std::abs(std::log(value))));
        CHECK(std::abs(square_root(value) - std::sqrt(value)) <= 4e-16 * std::sqrt(value));
    }
    CHECK(logarithm(1.0) == 0);
    CHECK(square_root(0) == 0);
}

TEST_CASE("the normal distribution agrees with libm") {
    for (double sigmas = -9; sigmas <= 9; sigmas += 0.01)
        CHECK(std::abs(normal_below(sigmas) - 0.5 * std::erfc(-sigmas / std::sqrt(2.0))) < 2e-7);
}
