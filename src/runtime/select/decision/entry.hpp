// The choice for one (collective, size class), as calls look it up.
#pragma once

#include <cstdint>

namespace mpiric::select {

/// A choice is the index of a candidate, or one of these.
struct Choice {
    static constexpr int32_t library = -1;  ///< what the library does by itself
    static constexpr int32_t look_up = -2;  ///< an entry's: not decided, or not the same for all sizes
    static constexpr int32_t explore = -3;  ///< a size range's: being learned
    static constexpr int32_t library_for_now = -4;  ///< an entry's: the library's while learning pauses
};

/// A range of sizes with one choice: from ≤ size < to.
struct SizeRange {
    uint64_t from, to;
    int32_t choice;
    bool learned = choice == Choice::explore;  ///< false: the policy chose
    /// Calls of the key after which the choice has to be proved again; 0: it was learned with other sizes.
    uint64_t holds_until = UINT64_MAX;
    bool proved = false;  ///< the policy's choice has been compared with the library's own

    bool has(uint64_t bytes) const noexcept { return from <= bytes && bytes < to; }
};

/// What serves the calls of one size class.
struct Entry {
    int32_t choice = Choice::look_up;
    uint64_t calls = 0;
    const SizeRange* held = nullptr;  ///< sizes and calls for which the choice holds; null: all

    /// The choice for a call of that size, or `look_up` where it is not known to hold.
    int32_t choice_at(uint64_t bytes) const noexcept {
        if (!held)
            return choice;
        if (!held->has(bytes) || calls >= held->holds_until)
            return Choice::look_up;
        return choice == Choice::library_for_now ? Choice::library : choice;
    }
};

}  // namespace mpiric::select
