// k-nomial trees, members counted from the root: a member's subtree are those that follow it, and its
// children lie k^s, 2k^s, … (k − 1)k^s further for each s within.
#pragma once

namespace mpiric::coll {

/// Members `here` … `here` + reach − 1 are the subtree, as far as there are any; its parent is that whose
/// number is a multiple of reach · radix before it.
inline int knomial_reach(int here, int size, int radix) noexcept {
    int reach = 1;
    while (reach < size && here % (reach * radix) == 0)
        reach *= radix;
    return reach;
}

}  // namespace mpiric::coll
