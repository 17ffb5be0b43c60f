// One key being learnt: which candidate serves its next call, and what is to be measured.
//
// Ranks stay in step because everything here follows from the number of calls and from what they agreed on:
// times are the largest over the ranks.
#pragma once

#include "tune/race.hpp"

#include <cstdint>
#include <span>

namespace mpiric::tune {

/// What a call is for.
struct Step {
    uint32_t candidate = 0;
    bool measured = false;    ///< its time counts
    bool alone = false;       ///< the ranks meet before it, so that no skew is measured
    bool ends_block = false;  ///< after it the ranks agree, and took() is told
};

/// What the ranks agreed on at the end of a block: largest over the ranks, in nanoseconds.
struct Agreed {
    uint64_t inside;       ///< in the measured calls
    uint64_t between;      ///< of the rank between them
    uint64_t agreeing;     ///< spent on the agreement before this one
    uint64_t meeting = 0;  ///< before calls that begin together: least over the ranks, as others wait for it
};

class Learner {
  public:
    /// `learn_at_most`: largest part of the key's time that may be lost; 0 means no bound.
    Learner(std::span<const int32_t> parents, double learn_at_most);
    /// Whether what another has chosen, its candidate 1 here, is faster than the library's own for these
    /// calls too. `calls`: of the key so far.
    Learner(const Learner& settled, uint64_t calls);
    /// Whether what a policy has chosen, candidate 1, is faster than the library's own, of which nothing is
    /// known here.
    Learner(uint64_t calls, double learn_at_most);

    /// For the next call of the key.
    Step next();
    /// Calls from the next one on that teach nothing, all served by what rests; they count as made.
    uint64_t rests() noexcept;
    /// After a call whose step ended a block.
    void took(const Agreed& agreed);

    bool settled() const noexcept { return race_.settled(); }
    const Race& race() const noexcept { return race_; }
    uint64_t calls() const noexcept { return calls_; }
    uint64_t learning_calls() const noexcept { return learning_calls_; }
    double learning_seconds() const noexcept { return lost_; }

  private:
    static constexpr uint64_t warm_up_calls = 6;
    static constexpr uint32_t first_block = 4;

    void spend(double seconds, bool usual, double besides);
    void rest(double about_to_lose);

    Race race_;
    double learn_at_most_;
    uint64_t calls_ = 0, learning_calls_ = 0, rest_ = warm_up_calls;
    uint32_t resting_ = 0;  ///< candidate of the calls that teach nothing: against it others lose
    uint32_t left_ = 0;     ///< calls of the block under way
    uint32_t length_ = 0;   ///< those of them that are measured
    uint32_t lead_ = 0;     ///< those before
    bool looked_ = false;   ///< how the program calls is known
    bool alone_ = false;
    double usual_ = 0;  ///< seconds of a call of what rests
    double total_ = 0, lost_ = 0;
};

}  // namespace mpiric::tune
