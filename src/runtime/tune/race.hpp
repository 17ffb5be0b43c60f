// Which of several candidates is fastest, the first of them being what the library does by itself.
//
// Successive elimination (Even-Dar, Mannor, Mansour, JMLR 7, 2006) over rounds. In each round every candidate
// that is left is timed once, in changing order, and judged by the logarithm of its time over that of the
// others in the same round: what slows a whole round down falls out. Centres are medians, spreads are median
// deviations, so that a few calls hit by the scheduler decide nothing. The winner then meets the library's
// own in fresh rounds, because the best of many is flattered by having been picked; it is chosen only when
// those show it faster by more than `least_gain`, and else the next best gets the same chance. What is fed in
// must be equal on all ranks, then so is everything here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mpiric::tune {

/// Times of one candidate, in seconds a call.
struct Tries {
    std::vector<float> times;  ///< of the rounds in which it was timed, warm-up left out
    bool eliminated = false;
};

class Race {
  public:
    static constexpr double least_gain = 0.03;
    static constexpr int32_t no_parent = -1;

    /// `parents[c]`: the candidate of which c is a variant, tried only when that one has won; `no_parent` for
    /// the others. Candidate 0 is the library's own.
    explicit Race(std::span<const int32_t> parents);
    /// Only the fresh rounds of candidate 1 against the library's own; a call takes about so long.
    explicit Race(double call_seconds);

    /// Candidate to time next, and with how many calls in a row.
    uint32_t next() const noexcept { return order_[turn_]; }
    uint32_t calls() const noexcept { return calls_; }
    bool begins_round() const noexcept { return turn_ == 0; }
    /// Calls of it before those, which are not timed: what ran last has left caches and connections its own
    /// way, and the winner will run after itself. Not always as many: programs change roots in turn.
    uint32_t lead() const noexcept { return phase_ == Phase::duel ? 1 + round_ / 2 % 2 : 0; }

    /// The calls asked for took so long each, on the slowest rank.
    void took(double seconds);

    bool settled() const noexcept { return phase_ == Phase::settled; }
    /// 0 until something else has been proved faster.
    uint32_t choice() const noexcept { return choice_; }
    /// With which the choice is no slower than the library's own.
    double confidence() const noexcept { return confidence_; }

    /// Median time of a call so far; 0 before the first.
    double typical(uint32_t candidate) const;
    const Tries& tries(uint32_t candidate) const noexcept { return tries_[candidate]; }
    uint32_t size() const noexcept { return uint32_t(tries_.size()); }
    /// Its best time of the first rounds over that of the library's own, less what one call may take by the
    /// way; 0 before these are over.
    double first_ratio(uint32_t candidate) const noexcept;

  private:
    enum class Phase : uint8_t { trial, race, variants, duel, settled };

    void begin(Phase phase, std::vector<uint32_t> runners);
    void line_up();
    void end_round();
    void end_trial();
    void end_race_round();
    void end_duel_round();
    void eliminate(uint32_t candidate);
    void finish_race();
    void challenge();
    uint32_t leader() const;

    Phase phase_ = Phase::trial;
    std::vector<int32_t> parents_;
    std::vector<Tries> tries_;
    std::vector<uint32_t> runners_;     ///< still in, the library's own first
    std::vector<uint32_t> order_;       ///< of this round
    std::vector<uint32_t> contenders_;  ///< that have not met the library's own yet, the best last
    std::vector<double> now_;           ///< times of this round, by candidate
    std::vector<std::vector<double>>
        logs_;  ///< by candidate: logarithms of times, one for each round of this phase
    std::vector<double> best_of_trial_;
    uint32_t turn_ = 0, round_ = 0, calls_ = 1, choice_ = 0;
    double confidence_ = 0;
    bool tried_ = false;  ///< the first rounds are over
};

}  // namespace mpiric::tune
