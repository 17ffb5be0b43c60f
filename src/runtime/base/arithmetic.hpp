// The little of mathematics that statistics need: a preloaded library loads nothing, not even libm.
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

namespace mpiric {

/// Natural logarithm of a positive normal number, to about one unit of the last place: the exponent times ln
/// 2, and 2 artanh((m - 1) / (m + 1)) of the mantissa m between sqrt(1/2) and sqrt(2), by its power series.
constexpr double logarithm(double value) noexcept {
    constexpr uint64_t mantissa_bits = (uint64_t{1} << 52) - 1;
    const auto bits = std::bit_cast<uint64_t>(value);
    auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
    double mantissa = std::bit_cast<double>((bits & mantissa_bits) | uint64_t{1023} << 52);
    if (mantissa > std::numbers::sqrt2) {
        mantissa /= 2;
        ++exponent;
    }
    const double part = (mantissa - 1) / (mantissa + 1), square = part * part;  // square < 0.0295
    double sum = 0;
    for (int odd = 23; odd > 0; odd -= 2)
        sum = sum * square + 1.0 / odd;
    return double(exponent) * std::numbers::ln2 + 2 * part * sum;
}

/// Square root of a number that is not negative, by Newton's steps from half its exponent.
constexpr double square_root(double value) noexcept {
    if (value <= 0)
        return 0;
    double root = std::bit_cast<double>((std::bit_cast<uint64_t>(value) + (uint64_t{1023} << 52)) / 2);
    for (int step = 0; step < 5; ++step)
        root = (root + value / root) / 2;
    return root;
}

/// Probability that a standard normal number is below this, to 2e-7: formula 26.2.19 of Abramowitz and
/// Stegun, Handbook of Mathematical Functions, 1964.
constexpr double normal_below(double sigmas) noexcept {
    if (sigmas < 0)
        return 1 - normal_below(-sigmas);
    constexpr double terms[] = {5.383e-6, 4.88906e-5, 3.80036e-5, 3.2776263e-3, 2.11410061e-2, 4.98673470e-2};
    double sum = 0;
    for (const double term : terms)
        sum = (sum + term) * sigmas;
    sum += 1;
    const double fourth = sum * sum * sum * sum, sixteenth = fourth * fourth * fourth * fourth;
    return 1 - 0.5 / sixteenth;
}

}  // namespace mpiric
