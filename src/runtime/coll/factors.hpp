// Numbers of ranks as products of small factors: algorithms by recursive multiplying take one factor a round.
#pragma once

namespace mpiric::coll {

/// The largest factor of `number` that is at most `radix`; 1 when there is none.
constexpr int largest_factor(int number, int radix) noexcept {
    for (int factor = radix; factor > 1; --factor)
        if (number % factor == 0)
            return factor;
    return 1;
}

/// `number` is a product of factors up to `radix`, of which one at least is larger than `smaller`: with that
/// radix it is another product, or none.
constexpr bool multiplies_out(int number, int radix, int smaller) noexcept {
    if (largest_factor(number, radix) <= smaller)
        return false;
    int left = number;
    for (int factor; (factor = largest_factor(left, radix)) > 1;)
        left /= factor;
    return left == 1;
}

}  // namespace mpiric::coll
