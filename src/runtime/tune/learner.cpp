#include "tune/learner.hpp"

#include <algorithm>
#include <utility>

namespace mpiric::tune {

Learner::Learner(std::span<const int32_t> parents, double learn_at_most)
    : race_(parents), learn_at_most_(learn_at_most) {}

Learner::Learner(const Learner& settled, uint64_t calls)
    : race_(settled.race_.typical(0)), learn_at_most_(settled.learn_at_most_), rest_(0), resting_(1),
      looked_(true), alone_(settled.alone_), usual_(settled.race_.typical(settled.race_.choice())),
      total_(double(calls) * usual_), lost_(settled.lost_) {}

Learner::Learner(uint64_t calls, double learn_at_most)
    : race_(1.0), learn_at_most_(learn_at_most), calls_(calls), rest_(0), resting_(1) {}

Step Learner::next() {
    ++calls_;
    if (settled())
        return {race_.choice()};
    if (rest_ > 0) {
        --rest_;
        return {resting_};
    }
    if (left_ == 0) {
        length_ = looked_ ? race_.calls() : first_block;
        lead_ = looked_ ? race_.lead() : 0;
        left_ = lead_ + length_;
    }
    ++learning_calls_;
    Step step;
    step.candidate = looked_ ? race_.next() : resting_;
    step.measured = left_ <= length_;
    if (!step.measured) {
        --left_;
        return step;
    }
    step.alone = looked_ && alone_;
    step.ends_block = --left_ == 0;
    return step;
}

uint64_t Learner::rests() noexcept {
    calls_ += rest_;
    return std::exchange(rest_, 0);
}

void Learner::took(const Agreed& agreed) {
    const double seconds = double(agreed.inside) * 1e-9 / length_;
    if (!looked_) {
        // Calls that follow one another at once overlap, and are judged as they are; calls with work or
        // other calls between them are judged one by one, begun together.
        looked_ = true;
        usual_ = seconds;
        alone_ = agreed.between > agreed.inside / 2;
        total_ += seconds * double(calls_);
        if (resting_ == 0)
            return;
        race_ = Race(seconds);
        rest(seconds * (race_.lead() + race_.calls()));  // as if the library took twice as long
        return;
    }
    const bool usual = race_.next() == resting_;
    race_.took(seconds);
    spend(seconds, usual, double(agreed.agreeing + agreed.meeting) * 1e-9);
}

void Learner::spend(double seconds, bool usual, double besides) {
    const uint32_t calls = lead_ + length_;
    if (const double known = race_.typical(resting_); known > 0)
        usual_ = known;
    total_ += seconds * calls + besides;
    lost_ += (usual ? 0.0 : std::max(0.0, seconds - usual_) * calls) + besides;
    if (!settled())
        rest(resting_ == 0 ? 0 : std::max(0.0, race_.typical(0) - usual_) * calls);
}

void Learner::rest(double about_to_lose) {
    const bool torn = resting_ != 0 && !race_.begins_round();  // two that meet do so at one time
    if (learn_at_most_ <= 0 || usual_ <= 0 || torn)
        return;
    const double missing = (lost_ + about_to_lose) / learn_at_most_ - total_;
    if (missing <= 0)
        return;
    rest_ = uint64_t(std::min(missing / usual_, 1e9)) + 1;
    total_ += double(rest_) * usual_;
}

}  // namespace mpiric::tune
