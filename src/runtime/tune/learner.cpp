#include "tune/learner.hpp"

#include <algorithm>

namespace mpiric::tune {

Learner::Learner(std::span<const int32_t> parents, double learn_at_most)
    : race_(parents), learn_at_most_(learn_at_most) {}

Step Learner::next() {
    ++calls_;
    if (settled())
        return {race_.choice()};
    if (rest_ > 0) {
        --rest_;
        return {};
    }
    if (left_ == 0)
        left_ = length_ = looked_ ? race_.calls() : first_block;
    ++learning_calls_;
    Step step;
    step.candidate = looked_ ? race_.next() : 0;
    step.measured = true;
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
    race_.took(seconds);
    spend(seconds, double(agreed.agreeing) * 1e-9);
}

void Learner::spend(double seconds, double agreeing) {
    const double usual = race_.baseline();
    total_ += seconds * length_ + agreeing;
    lost_ += std::max(0.0, seconds - usual) * length_ + agreeing;
    if (learn_at_most_ <= 0 || usual <= 0 || settled())
        return;
    const double missing = lost_ / learn_at_most_ - total_;
    if (missing <= 0)
        return;
    rest_ = uint64_t(std::min(missing / usual, 1e9)) + 1;
    total_ += double(rest_) * usual;
}

}  // namespace mpiric::tune
