// Finds the fastest of several candidates, the first of them being what the library does by itself.
//
// Successive elimination (Even-Dar, Mannor, Mansour, JMLR 7, 2006) over rounds. In each round every candidate
// that remains is timed once, in changing order, and judged by the logarithm of the ratio of its time to the
// times of the others in the same round: effects that slow a whole round down cancel. Centres are medians and
// spreads are median deviations, so that a few calls hit by the scheduler decide nothing. The winner is then
// compared with the library's own in fresh rounds, because the best of many is flattered by having been
// picked; it is chosen only when those show it faster by more than `least_gain`, else the next best is
// compared. Times fed in are equal on all ranks, so every rank decides alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mpiric::tune {

/// Measured times of one candidate, in seconds a call.
struct Timings {
    std::vector<float> times;  ///< one for each round, without warm-up
    bool eliminated = false;
};

class Race {
  public:
    static constexpr double least_gain = 0.03;
    static constexpr int32_t no_parent = -1;

    /// Races candidates; 0 is the library's own. `parents[c]` is the candidate of which c is a variant, timed
    /// only after that one has won; `no_parent` for the others.
    explicit Race(std::span<const int32_t> parents);
    /// Compares candidate 1 with the library's own in the fresh rounds alone; a call takes about so long.
    explicit Race(double call_seconds);

    /// Candidate to time next.
    uint32_t next() const noexcept { return order_[turn_]; }
    /// Number of consecutive calls to time it with.
    uint32_t calls() const noexcept { return calls_; }
    bool begins_round() const noexcept { return turn_ == 0; }
    /// Number of untimed calls of it before the timed ones: the previous candidate has left its own state in
    /// caches and connections, and the winner will run after itself. It varies.
    uint32_t lead() const noexcept { return phase_ == Phase::duel ? 1 + round_ / 2 % 2 : 0; }

    /// Adds the time of a call of next(), on the slowest rank.
    void add_time(double seconds);

    bool decided() const noexcept { return phase_ == Phase::decided; }
    /// The chosen candidate; 0 until another has been proved faster.
    uint32_t choice() const noexcept { return choice_; }
    /// Confidence with which the choice is at least as fast as the library's own.
    double confidence() const noexcept { return confidence_; }

    /// Median time of a call so far; 0 before the first.
    double typical(uint32_t candidate) const;
    const Timings& timings(uint32_t candidate) const noexcept { return timings_[candidate]; }
    uint32_t size() const noexcept { return uint32_t(timings_.size()); }
    /// A candidate's best time in warm-up, less the skew of one call, over the library's; 0: none yet.
    double warmup_ratio(uint32_t candidate) const noexcept;

  private:
    enum class Phase : uint8_t { warmup, race, variants, duel, decided };

    void begin(Phase phase, std::vector<uint32_t> remaining);
    void line_up();
    void end_warmup();
    void end_race_round();
    void end_duel_round();
    void finish_race();
    void challenge();
    uint32_t leader() const;

    Phase phase_ = Phase::warmup;
    std::vector<int32_t> parents_;
    std::vector<Timings> timings_;
    std::vector<uint32_t> remaining_;   ///< not eliminated, the library's own first
    std::vector<uint32_t> order_;       ///< order of this round
    std::vector<uint32_t> contenders_;  ///< not compared with the library's own yet, the best last
    std::vector<double> now_;           ///< times of this round, by candidate
    std::vector<std::vector<double>>
        logs_;  ///< logarithms of times, one for each round of this phase, indexed by candidate
    std::vector<double> best_of_warmup_;
    uint32_t turn_ = 0, round_ = 0, calls_ = 1, choice_ = 0;
    double confidence_ = 0;
    bool warmed_up_ = false;
};

}  // namespace mpiric::tune
