#include "tune/learner.hpp"

#include <algorithm>

namespace mpiric::tune {

Learner::Learner(std::span<const int32_t> parents, double learn_at_most)
    : race_(parents), learn_at_most_(learn_at_most) {}

Learner::Learner(const Learner& settled, uint64_t calls)
    : race_(settled.race_.baseline()), learn_at_most_(settled.learn_at_most_), rest_(0), resting_(1),
      looked_(true), alone_(settled.alone_), total_(double(calls) * settled.race_.baseline()),
      lost_(settled.lost_) {}

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
    step.candidate = looked_ ? race_.next() : 0;
    step.measured = left_ <= length_;
    if (!step.measured) {
        --left_;
        return step;
    }
    step.alone = looked_ && alone_;
    step.ends_block = --left_ == 0;
    return step;
}

void Learner::took(const Agreed& agreed) {
    const double seconds = double(agreed.inside) * 1e-9 / length_;
    if (!looked_) {
        // Calls that follow one another at once overlap, and are judged as they are; calls with work or
        // other calls between them are judged one by one, begun together.
        looked_ = true;
        alone_ = agreed.between > agreed.inside / 2;
        total_ += seconds * double(calls_);
        return;
    }
    const bool library = race_.next() == 0;
    race_.took(seconds);
    spend(seconds, library, double(agreed.agreeing) * 1e-9);
}

void Learner::spend(double seconds, bool library, double agreeing) {
    const double usual = race_.baseline();
    const uint32_t calls = lead_ + length_;
    total_ += seconds * calls + agreeing;
    lost_ += (library ? 0.0 : std::max(0.0, seconds - usual) * calls) + agreeing;
    if (learn_at_most_ <= 0 || usual <= 0 || settled())
        return;
    const double missing = lost_ / learn_at_most_ - total_;
    if (missing <= 0)
        return;
    rest_ = uint64_t(std::min(missing / usual, 1e9)) + 1;
    total_ += double(rest_) * usual;
}

}  // namespace mpiric::tune
