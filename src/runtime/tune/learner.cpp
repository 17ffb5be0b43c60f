// Takes a Race through the calls of one key, with pauses that bound the time lost.
#include "tune/learner.hpp"

#include <algorithm>
#include <utility>

namespace mpiric::tune {

Learner::Learner(std::span<const int32_t> parents, double learn_at_most)
    : race_(parents), learn_at_most_(learn_at_most) {}

Learner::Learner(const Learner& decided, uint64_t calls)
    : race_(decided.race_.typical(0)), learn_at_most_(decided.learn_at_most_), paused_(0), incumbent_(1),
      probed_(true), rendezvous_(decided.rendezvous_),
      incumbent_seconds_(decided.race_.typical(decided.race_.choice())),
      total_(double(calls) * incumbent_seconds_), lost_(decided.lost_) {}

Learner::Learner(uint64_t calls, double learn_at_most)
    : race_(1.0), learn_at_most_(learn_at_most), calls_(calls), paused_(0), incumbent_(1) {}

Step Learner::next() {
    ++calls_;
    if (decided())
        return {race_.choice()};
    if (paused_ > 0) {
        --paused_;
        return {incumbent_};
    }
    if (left_ == 0) {
        length_ = probed_ ? race_.calls() : first_block;
        lead_ = probed_ ? race_.lead() : 0;
        left_ = lead_ + length_;
    }
    ++learning_calls_;
    Step step;
    step.candidate = probed_ ? race_.next() : incumbent_;
    step.measured = left_ <= length_;
    if (!step.measured) {
        --left_;
        return step;
    }
    step.rendezvous = probed_ && rendezvous_;
    step.ends_block = --left_ == 0;
    return step;
}

uint64_t Learner::take_pause() noexcept {
    calls_ += paused_;
    return std::exchange(paused_, 0);
}

void Learner::end_block(const Agreed& agreed) {
    const double seconds = double(agreed.inside) * 1e-9 / length_;
    if (!probed_) {
        // Calls back to back overlap, and are timed as they are; calls with work or other calls between them
        // are timed one by one, after a rendezvous.
        probed_ = true;
        incumbent_seconds_ = seconds;
        rendezvous_ = agreed.between > agreed.inside / 2;
        total_ += seconds * double(calls_);
        if (incumbent_ == 0)
            return;
        race_ = Race(seconds);
        pause(seconds * (race_.lead() + race_.calls()));  // assumes that the library takes twice as long
        return;
    }
    const bool is_incumbent = race_.next() == incumbent_;
    const double overhead = double(agreed.agreeing + agreed.rendezvous) * 1e-9;
    const uint32_t calls = lead_ + length_;
    race_.add_time(seconds);
    if (const double known = race_.typical(incumbent_); known > 0)
        incumbent_seconds_ = known;
    total_ += seconds * calls + overhead;
    lost_ += (is_incumbent ? 0.0 : std::max(0.0, seconds - incumbent_seconds_) * calls) + overhead;
    if (!decided())
        pause(incumbent_ == 0 ? 0 : std::max(0.0, race_.typical(0) - incumbent_seconds_) * calls);
}

void Learner::pause(double about_to_lose) {
    const bool mid_round = incumbent_ != 0 && !race_.begins_round();  // a comparison is made at one time
    if (learn_at_most_ <= 0 || incumbent_seconds_ <= 0 || mid_round)
        return;
    const double missing = (lost_ + about_to_lose) / learn_at_most_ - total_;
    if (missing <= 0)
        return;
    paused_ = uint64_t(std::min(missing / incumbent_seconds_, 1e9)) + 1;
    total_ += double(paused_) * incumbent_seconds_;
}

}  // namespace mpiric::tune
