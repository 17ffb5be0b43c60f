// Proving a choice again: comparing it with the library's own where and when it no longer counts as proved.
#pragma once

#include "select/decision/exploration.hpp"

#include <cstdint>

namespace mpiric::select {

/// Calls of a key for which a policy's choice holds. Forms that do not block are never compared again.
uint64_t calls_before_reproof(const Rules& rules, Collective collective) noexcept;

/// The exploration that compares the choice of a range with the library's own; null while it is another
/// range's turn. `calls`: of the key so far.
Exploration* reproof_of(const Basis& basis, Exploration& exploration, const SizeRange& range,
                        Collective collective, uint64_t calls);

/// Takes over what a reproof has shown, once it has ended.
void take_reproof(Entry& entry, Exploration& exploration);

}  // namespace mpiric::select
