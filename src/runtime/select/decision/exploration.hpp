// The choice for one (collective, size class), as calls look it up, and its exploration: how it is learned.
#pragma once

#include "base/collective.hpp"
#include "base/options.hpp"
#include "tune/candidate.hpp"
#include "tune/learner.hpp"
#include "tune/policy.hpp"
#include "tune/shape.hpp"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace mpiric::select {

// The basis of every decision: equal on all ranks of the job from MPI_Init on.

/// Rules that rank 0 of the world sets for all ranks.
struct Rules {
    Collectives mode = Collectives::off;
    double learn_at_most = 0;
    bool reprove = true;
    bool reproducible = false;
    bool writes_policy = false;
    uint32_t learn_ranks = 2;
    uint64_t learn_only = UINT64_MAX;  ///< a bit for each collective
    uint64_t scratch_bytes = 0;
    uint64_t policy_bytes = 0;
};

/// Rules that the options ask for; says so when MPIRIC_LEARN_ONLY names no collective.
Rules rules_of(const Options& options, bool writes_policy);

struct Basis {
    Rules rules;
    tune::Catalogue catalogue;
    std::vector<bool> usable;  ///< indexed by candidate: usable on every rank
    /// Indexed by candidate: the order of reduction depends on size and count alone.
    std::vector<bool> fixed_order;
    std::optional<tune::Policy> policy;
};

/// Whether times may decide about a collective: not about reductions whose results must be reproducible.
inline bool may_vary(const Rules& rules, Collective collective) noexcept {
    return !(rules.reproducible && reduces(collective));
}

/// A choice is the index of a candidate, or one of these.
struct Choice {
    static constexpr int32_t library = -1;  ///< the library's own default
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

/// Choice for the calls of one size class.
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

/// A block of measured calls of one candidate: its times on this rank.
struct Block {
    uint64_t inside_ns = 0;      ///< time in the measured calls
    uint64_t between_ns = 0;     ///< between them
    uint64_t rendezvous_ns = 0;  ///< before them
    uint64_t agreeing_ns = 0;    ///< time of agreements on the block before, or too early on this one
    uint64_t last_end_ns = 0;    ///< when the last measured call returned; 0: none has
    bool full = false;           ///< all measured calls have been started
    uint32_t under_way = 0;      ///< measured calls that have been started and not completed
    uint32_t postponed = 0;      ///< agreements at which some rank had calls under way
};

struct Exploration {
    std::vector<SizeRange> ranges;
    std::vector<uint32_t> candidates;  ///< indexed by the learner's numbers
    std::unique_ptr<tune::Learner> learner;
    Block block;
    uint64_t least_bytes = UINT64_MAX, most_bytes = 0;  ///< sizes of the measured calls
    bool composed = false;                  ///< a datatype was seen that other ranks may describe otherwise
    SizeRange held{0, 0, Choice::library};  ///< range for which the entry's choice holds
    bool reproves = false;                  ///< its choices have to be proved again
    bool is_reproof = false;
    std::unique_ptr<Exploration> reproof;       ///< proof under way of the choice for one of the ranges
    std::unique_ptr<Exploration> policy_proof;  ///< the last that ended of a policy's choice
    uint64_t calls = 0;  ///< calls of a form that does not block, when its communicator is gone
};

/// By collective and size class.
using Explorations = std::unordered_map<uint32_t, Exploration>;

constexpr uint32_t exploration_key(Collective collective, uint32_t size_class) noexcept {
    return uint32_t(collective) * tune::class_count + size_class;
}

/// Begins to learn among the candidates that serve a call of `bytes`, the library first; decides at once
/// when that is the only one.
void begin_learning(const Basis& basis, const Explorations& explorations, Entry& entry,
                    Exploration& exploration, Collective collective, uint64_t bytes,
                    std::span<const uint32_t> serving);

/// Gives the ranges that were being learned their final choice.
void end_with(Entry& entry, Exploration& exploration, int32_t choice);

/// Values of which the ranks take the largest at the end of a block.
using BlockSums = std::array<uint64_t, 6>;

/// Notes a measured call before it is made. `composed`: other ranks may use another datatype.
void note_measured(Exploration& exploration, uint64_t bytes, bool composed) noexcept;

/// Adds the time of a blocking call.
void add_call(Exploration& exploration, uint32_t candidate, uint64_t begin_ns, uint64_t end_ns) noexcept;

BlockSums sums_of(const Exploration& exploration) noexcept;

/// Ends a block with the largest sums of all ranks, and the exploration when the learner has decided.
void end_block(Entry& entry, Exploration& exploration, const BlockSums& largest);

/// Ends a block of calls that do not block; false where some rank has calls under way: to be repeated.
bool end_started_block(Entry& entry, Exploration& exploration, const BlockSums& largest);

/// Publishes in the entry the choice for all its sizes, or for one range.
void publish(Entry& entry, Exploration& exploration) noexcept;

bool has_calls_under_way(const Explorations& explorations) noexcept;

/// Whether anything was learned, or chosen by a policy.
bool has_choices(const Explorations& explorations) noexcept;

}  // namespace mpiric::select
