// The exploration of one (collective, size class): its size ranges, and how their choice is learned.
#pragma once

#include "base/collective.hpp"
#include "select/decision/basis.hpp"
#include "select/decision/block.hpp"
#include "select/decision/entry.hpp"
#include "tune/learner.hpp"
#include "tune/size_class.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace mpiric::select {

struct Exploration {
    std::vector<SizeRange> ranges;
    std::vector<uint32_t> candidates;  ///< by the learner's numbers
    std::unique_ptr<tune::Learner> learner;
    Block block;
    uint64_t least_bytes = UINT64_MAX, most_bytes = 0;  ///< of measured calls
    bool composed = false;                  ///< a datatype was seen that other ranks may describe otherwise
    SizeRange held{0, 0, Choice::library};  ///< where the entry's choice holds
    bool reproves = false;                  ///< its choices have to be proved again
    bool is_reproof = false;
    std::unique_ptr<Exploration> reproof;       ///< of the choice for one of the ranges, under way
    std::unique_ptr<Exploration> policy_proof;  ///< the last that ended of a policy's choice
    uint64_t calls = 0;  ///< of a form that does not block, when its communicator is gone
};

/// By collective and size class.
using Explorations = std::unordered_map<uint32_t, Exploration>;

constexpr uint32_t exploration_key(Collective collective, uint32_t size_class) noexcept {
    return uint32_t(collective) * tune::class_count + size_class;
}

/// Begins to learn among the candidates that serve a call of `bytes`, the library first; concludes at once
/// when that is the only one.
void begin_learning(const Basis& basis, const Explorations& explorations, Entry& entry,
                    Exploration& exploration, Collective collective, uint64_t bytes,
                    std::span<const uint32_t> serving);

/// Gives the ranges that were being learned their final choice.
void conclude(Entry& entry, Exploration& exploration, int32_t choice);

/// Lets calls find in the entry what holds for all its sizes, or for one range.
void publish(Entry& entry, Exploration& exploration) noexcept;

bool has_calls_under_way(const Explorations& explorations) noexcept;

/// Whether anything was learned, or chosen by a policy.
bool has_choices(const Explorations& explorations) noexcept;

}  // namespace mpiric::select
