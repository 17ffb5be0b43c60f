// Learning of one key: which candidate serves its next call, and whether that is measured.
//
// Ranks stay in step: all decisions follow from the number of calls and from agreed values.
#pragma once

#include "tune/race.hpp"

#include <cstdint>
#include <span>

namespace mpiric::tune {

/// The candidate of a call, and how it is measured.
struct Step {
    uint32_t candidate = 0;
    bool measured = false;    ///< its time counts
    bool rendezvous = false;  ///< ranks meet before the call, so that no skew is measured
    bool ends_block = false;  ///< after it the ranks agree on the times for end_block()
};

/// Times of a block that the ranks agreed on: the largest over the ranks, in nanoseconds.
struct Agreed {
    uint64_t inside;    ///< time in the measured calls
    uint64_t between;   ///< between the measured calls
    uint64_t agreeing;  ///< spent on the agreement before this one
    /// Time of meetings before calls: the least over the ranks, as others wait for it.
    uint64_t rendezvous = 0;
};

class Learner {
  public:
    /// Learns from nothing. `learn_at_most`: largest part of the key's time that may be lost; 0: no bound.
    Learner(std::span<const int32_t> parents, double learn_at_most);
    /// Proves again what another learner has chosen: candidate 1 here. `calls`: of the key so far.
    Learner(const Learner& decided, uint64_t calls);
    /// Proves what a policy has chosen, candidate 1; nothing is known of the library's own times.
    Learner(uint64_t calls, double learn_at_most);

    /// The next call of the key.
    Step next();
    /// Number of calls from the next one on during which learning pauses; they count as made.
    uint64_t take_pause() noexcept;
    /// Takes the times of a block, after a call whose step ended it.
    void end_block(const Agreed& agreed);

    bool decided() const noexcept { return race_.decided(); }
    const Race& race() const noexcept { return race_; }
    uint64_t calls() const noexcept { return calls_; }
    uint64_t learning_calls() const noexcept { return learning_calls_; }
    double learning_seconds() const noexcept { return lost_; }

  private:
    static constexpr uint64_t warm_up_calls = 6;
    static constexpr uint32_t first_block = 4;

    void pause(double about_to_lose);

    Race race_;
    double learn_at_most_;
    uint64_t calls_ = 0, learning_calls_ = 0, paused_ = warm_up_calls;
    uint32_t incumbent_ = 0;  ///< serves the calls while learning pauses; losses are against it
    uint32_t left_ = 0;       ///< calls left of the block
    uint32_t length_ = 0;     ///< measured calls of the block
    uint32_t lead_ = 0;       ///< calls of the block before those
    bool probed_ = false;     ///< how the program calls is known: back to back or not
    bool rendezvous_ = false;
    double incumbent_seconds_ = 0;  ///< time of one call
    double total_ = 0, lost_ = 0;
};

}  // namespace mpiric::tune
