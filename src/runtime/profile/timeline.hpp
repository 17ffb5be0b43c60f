// Activities of a rank in the course of its run: a fixed number of equal spans of time. When the run outgrows
// them two become one and each spans twice as long, so that an hour costs no more room than a second.
#pragma once

#include "profile/format.hpp"

#include <cstdint>

namespace mpiric::profile {

class Timeline {
  public:
    /// Takes `span_count` zeroed spans, their length and how many are in use, all in the mapped file.
    void begin(Span* spans, uint64_t& span_ticks, uint32_t& used, uint64_t now) noexcept;

    /// Adds the time from one tick to another; for `weight` calls. True when a new span has begun.
    bool add(Activity activity, uint64_t from, uint64_t to, uint32_t weight = 1) noexcept {
        if (!in_this_span(to - from, to))
            return add_elsewhere(activity, from, to, weight);
        add_to_this_span(activity, to - from, weight);
        return false;
    }

    /// Whether the time spent until then is within the current span.
    bool in_this_span(uint64_t spent, uint64_t until) const noexcept {
        const uint64_t past = until - now_begin_;
        return past < now_ticks_ && spent <= past;
    }
    void add_to_this_span(Activity activity, uint64_t ticks, uint32_t weight) noexcept {
        now_->ticks[uint32_t(activity)] += ticks * weight;
    }

    /// Gives a region all time from the last change of regions to this tick.
    void region_until(uint32_t region, uint64_t now) noexcept;

  private:
    bool add_elsewhere(Activity activity, uint64_t from, uint64_t to, uint32_t weight) noexcept;
    void reach(uint64_t to) noexcept;
    void widen() noexcept;
    template <class Each> void each_span(uint64_t from, uint64_t to, Each&& each) noexcept;

    Span* now_ = nullptr;  ///< the span that time goes to at present, its first tick and its length
    uint64_t now_begin_ = 0, now_ticks_ = 0;
    Span* spans_ = nullptr;
    uint64_t* span_ticks_ = nullptr;
    uint32_t* used_ = nullptr;
    uint64_t origin_ = 0;
    uint64_t changed_ = 0;  ///< last change of region, from the origin
    uint32_t shift_ = 0;
};

}  // namespace mpiric::profile
