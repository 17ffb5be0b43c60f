// The decision which candidate serves a collective call: a pure function of values that are equal on all
// ranks of the communicator, so that every rank decides alike (docs/concepts/collectives.md).
#pragma once

#include "select/decision/exploration.hpp"
#include "tune/shape.hpp"

#include <array>
#include <cstdint>

namespace mpiric::select {

/// Calls on a communicator that are left to the library before a shadow communicator is made or anything is
/// learned: short-lived communicators pay nothing.
inline constexpr uint64_t warmup_calls = 12;

/// Learned state of calls that come in one order on all ranks.
struct Learned {
    uint64_t calls = 0;  ///< calls that did not take the fast path
    Explorations explorations;
};

/// The same with an entry for each size class of `count` collectives.
template <uint32_t first, uint32_t count> struct DecisionTable : Learned {
    std::array<std::array<Entry, tune::class_count>, count> entries;

    static constexpr bool has(Collective collective) noexcept { return uint32_t(collective) - first < count; }
    Entry& entry(Collective collective, uint32_t size_class) noexcept {
        return entries[uint32_t(collective) - first][size_class];
    }
    const Entry& entry(Collective collective, uint32_t size_class) const noexcept {
        return entries[uint32_t(collective) - first][size_class];
    }
};
using BlockingTable = DecisionTable<0, blocking_count>;
/// Decisions on the nonblocking and persistent forms.
using StartedTable = DecisionTable<blocking_count, collective_count - blocking_count>;

/// Properties of a call that matter to the decision.
struct CallTraits {
    Collective collective;
    uint64_t bytes;
    bool commutes;  ///< its operation; true where nothing is reduced
};

struct Decision {
    int32_t choice = Choice::library;    ///< a candidate, `library` or `explore`
    Exploration* exploration = nullptr;  ///< set if the choice is `explore`
};

/// In `rotate` mode each call gets another candidate, the same on every rank.
int32_t rotated(const Basis& basis, uint64_t calls, Collective collective);

/// Decides where the entry does not say.
Decision look_up(const Basis& basis, const tune::Shape& shape, Explorations& explorations, Entry& entry,
                 const CallTraits& call);

/// Whether a choice needs no shadow communicator, so that it serves from the first call on. So does an order
/// of reduction that must not depend on how many calls were needed to learn others.
bool serves_at_once(const Basis& basis, int32_t choice, Collective collective) noexcept;

/// Decides what serves a call, on a communicator of that shape. Inline: often one look at its entry.
inline Decision decide(const Basis& basis, const tune::Shape& shape, Learned& learned, Entry& entry,
                       const CallTraits& call) {
    if (basis.rules.mode == Collectives::rotate) [[unlikely]]
        return {rotated(basis, learned.calls, call.collective)};
    Decision decision{entry.choice_at(call.bytes)};
    if (decision.choice == Choice::look_up)
        decision = look_up(basis, shape, learned.explorations, entry, call);
    // A call that no candidate may serve teaches nothing about the others.
    const bool early =
        learned.calls <= warmup_calls && !serves_at_once(basis, decision.choice, call.collective);
    return decision.choice == Choice::library || early || !call.commutes ? Decision{} : decision;
}

}  // namespace mpiric::select
