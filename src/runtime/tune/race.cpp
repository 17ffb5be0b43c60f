// The phases of a race: warm-up, race, variants of the winner, and duels with the library's own.
#include "tune/race.hpp"

#include "base/arithmetic.hpp"

#include <algorithm>
#include <cmath>

namespace mpiric::tune {
namespace {

constexpr uint32_t warmup_rounds = 3;   // the first calls set up connections and memory: none is judged alone
constexpr double hopeless = 3;          // times the library's own in each warm-up round
constexpr double skew_seconds = 20e-6;  // skew of one call: ranks begin apart, memory is new
constexpr uint32_t first_judged = 4;    // rounds
constexpr uint32_t most_race_rounds = 24;
constexpr uint32_t duel_look = 4, least_duel_rounds = 8, most_duel_rounds = 96;
constexpr std::ptrdiff_t most_contenders = 3;
constexpr double race_sigmas = 2.5, duel_sigmas = 2.8;
constexpr double smallest_spread = 0.004;  // spread of a logarithm: the resolution of clocks and agreement
constexpr double block_seconds = 400e-6;   // short calls are timed several in a row
constexpr double most_calls = 16;

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2)
        return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Median of paired differences and its standard error.
struct Difference {
    double centre, error;
};

Difference difference(const std::vector<double>& left, const std::vector<double>& right) {
    std::vector<double> apart(left.size());
    for (size_t at = 0; at < left.size(); ++at)
        apart[at] = left[at] - right[at];
    const double centre = median(apart);
    for (double& value : apart)
        value = std::abs(value - centre);
    // 1.4826: median deviation to standard deviation of a normal law; 1.2533: mean to median.
    const double spread = std::max(1.4826 * median(apart), smallest_spread);
    return {centre, 1.2533 * spread / square_root(double(left.size()))};
}

uint32_t calls_in_a_row(double seconds) {
    return uint32_t(std::clamp(block_seconds / seconds, 1.0, most_calls));
}

}  // namespace

Race::Race(std::span<const int32_t> parents)
    : parents_(parents.begin(), parents.end()), timings_(parents.size()), now_(parents.size()),
      logs_(parents.size()), best_of_warmup_(parents.size(), HUGE_VAL) {
    std::vector<uint32_t> remaining;
    for (uint32_t candidate = 0; candidate < parents.size(); ++candidate)
        if (parents[candidate] == no_parent)
            remaining.push_back(candidate);
    begin(Phase::warmup, std::move(remaining));
    if (parents.size() < 2)
        phase_ = Phase::decided, confidence_ = 1;
}

Race::Race(double call_seconds)
    : parents_(2, no_parent), timings_(2), now_(2), logs_(2), best_of_warmup_(2, HUGE_VAL),
      calls_(calls_in_a_row(call_seconds)) {
    begin(Phase::duel, {0, 1});
}

void Race::begin(Phase phase, std::vector<uint32_t> remaining) {
    phase_ = phase;
    remaining_ = std::move(remaining);
    round_ = 0;
    for (auto& log : logs_)
        log.clear();
    line_up();
}

void Race::line_up() {
    order_ = remaining_;
    // Another candidate begins each time, and every other round is reversed.
    std::rotate(order_.begin(), order_.begin() + std::ptrdiff_t(round_ / 2 % order_.size()), order_.end());
    if (round_ % 2)
        std::reverse(order_.begin(), order_.end());
    turn_ = 0;
}

void Race::add_time(double seconds) {
    if (decided())
        return;
    now_[order_[turn_]] = std::max(seconds, 1e-9);
    if (++turn_ < order_.size())
        return;
    ++round_;
    if (phase_ == Phase::warmup)
        return end_warmup();
    for (const uint32_t candidate : remaining_) {
        logs_[candidate].push_back(logarithm(now_[candidate]));
        timings_[candidate].times.push_back(float(now_[candidate]));
    }
    if (phase_ == Phase::duel)
        end_duel_round();
    else
        end_race_round();
}

void Race::end_warmup() {
    for (const uint32_t candidate : remaining_)
        best_of_warmup_[candidate] = std::min(best_of_warmup_[candidate], now_[candidate]);
    if (round_ < warmup_rounds) {
        line_up();
        return;
    }
    warmed_up_ = true;
    calls_ = calls_in_a_row(best_of_warmup_[0]);
    std::vector<uint32_t> left;
    for (const uint32_t candidate : remaining_)
        if (candidate == 0 || warmup_ratio(candidate) <= hopeless)
            left.push_back(candidate);
        else
            timings_[candidate].eliminated = true;
    begin(Phase::race, std::move(left));
    if (remaining_.size() == 1)
        finish_race();
}

uint32_t Race::leader() const {
    return *std::min_element(remaining_.begin(), remaining_.end(), [&](uint32_t left, uint32_t right) {
        return median(logs_[left]) < median(logs_[right]);
    });
}

void Race::end_race_round() {
    if (round_ >= first_judged) {
        const uint32_t best = leader();
        for (const uint32_t candidate : std::vector(remaining_)) {
            if (candidate == 0 || candidate == best)
                continue;
            const Difference behind = difference(logs_[candidate], logs_[best]);
            if (behind.centre <= race_sigmas * behind.error)
                continue;
            timings_[candidate].eliminated = true;
            std::erase(remaining_, candidate);
        }
        if (remaining_.size() <= 2 || round_ >= most_race_rounds) {
            finish_race();
            return;
        }
    }
    line_up();
}

void Race::finish_race() {
    std::vector<uint32_t> variants;
    const uint32_t best = remaining_.size() == 1 ? 0 : leader();
    if (phase_ == Phase::race)
        for (uint32_t candidate = 0; candidate < parents_.size(); ++candidate)
            if (best != 0 && parents_[candidate] == int32_t(best))
                variants.push_back(candidate);
    if (best == 0) {
        phase_ = Phase::decided;
        confidence_ = 1;
    } else if (!variants.empty()) {
        variants.insert(variants.begin(), {0, best});
        begin(Phase::variants, std::move(variants));
    } else {
        contenders_ = remaining_;
        std::erase(contenders_, 0u);
        std::sort(contenders_.begin(), contenders_.end(),
                  [&](uint32_t left, uint32_t right) { return median(logs_[left]) > median(logs_[right]); });
        const auto beyond = std::ptrdiff_t(contenders_.size()) - most_contenders;
        if (beyond > 0)
            contenders_.erase(contenders_.begin(), contenders_.begin() + beyond);
        std::erase_if(contenders_, [&](uint32_t contender) {
            return contender != best &&
                   median(logs_[contender]) > median(logs_[0]) + logarithm(1 - least_gain);
        });
        challenge();
    }
}

void Race::challenge() {
    const uint32_t challenger = contenders_.back();
    contenders_.pop_back();
    begin(Phase::duel, {0, challenger});
}

void Race::end_duel_round() {
    if (round_ < least_duel_rounds || round_ % duel_look != 0) {
        line_up();
        return;
    }
    const uint32_t challenger = remaining_[1];
    const Difference ahead = difference(logs_[challenger], logs_[0]);
    // Rounds won by half the least gain: a sign test, which no single time can sway.
    uint32_t won = 0;
    for (size_t at = 0; at < round_; ++at)
        won += logs_[challenger][at] - logs_[0][at] < logarithm(1 - least_gain / 2);
    const double sigmas = (2.0 * won - round_) / square_root(double(round_));
    const bool faster = ahead.centre < logarithm(1 - least_gain) && sigmas > duel_sigmas;
    const bool behind = sigmas < -1;
    if (!faster && !behind && round_ < most_duel_rounds) {
        line_up();
        return;
    }
    if (!faster && !contenders_.empty()) {
        challenge();
        return;
    }
    choice_ = faster ? challenger : 0;
    confidence_ = faster ? normal_below(sigmas) : 1;
    phase_ = Phase::decided;
}

double Race::warmup_ratio(uint32_t candidate) const noexcept {
    return warmed_up_ && std::isfinite(best_of_warmup_[candidate])
               ? std::max(0.0, best_of_warmup_[candidate] - skew_seconds) / best_of_warmup_[0]
               : 0;
}

double Race::typical(uint32_t candidate) const {
    const std::vector<float>& times = timings_[candidate].times;
    if (!times.empty())
        return median({times.begin(), times.end()});
    return std::isfinite(best_of_warmup_[candidate]) ? best_of_warmup_[candidate] : 0;
}

}  // namespace mpiric::tune
