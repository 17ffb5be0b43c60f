// Adds times to the spans of a timeline, which are made twice as wide when the run outgrows them.
#include "profile/timeline.hpp"

namespace mpiric::profile {
namespace {

constexpr uint32_t first_shift = 18;  // about a tenth of a millisecond

/// The region with most of a span's time, by majority vote: time of one region is counted against the others
/// (Boyer and Moore, MJRTY, 1991). Exact when one region has more than half of the span.
void vote(Span& span, uint64_t region, uint64_t ticks) noexcept {
    if (span.region == region)
        span.region_ticks += ticks;
    else if (span.region_ticks >= ticks)
        span.region_ticks -= ticks;
    else {
        span.region = region;
        span.region_ticks = ticks - span.region_ticks;
    }
}

}  // namespace

void Timeline::begin(Span* spans, uint64_t& span_ticks, uint32_t& used, uint64_t now) noexcept {
    spans_ = spans;
    span_ticks_ = &span_ticks;
    used_ = &used;
    origin_ = now;
    changed_ = 0;
    shift_ = first_shift;
    span_ticks = uint64_t(1) << first_shift;
}

void Timeline::widen() noexcept {
    for (uint32_t at = 0; at < span_count; ++at) {
        const Span from = spans_[at];
        Span& into = spans_[at / 2];
        if (at % 2 == 0) {
            into = from;
            continue;
        }
        for (uint32_t activity = 0; activity < activity_count; ++activity)
            into.ticks[activity] += from.ticks[activity];
        vote(into, from.region, from.region_ticks);
    }
    for (uint32_t at = span_count / 2; at < span_count; ++at)
        spans_[at] = Span{};
    *used_ = (*used_ + 1) / 2;
    ++shift_;
    *span_ticks_ = uint64_t(1) << shift_;
}

/// Makes the span of a tick, counted from the origin, the present one.
void Timeline::reach(uint64_t to) noexcept {
    while (to >> shift_ >= span_count)
        widen();
    const uint32_t at = uint32_t(to >> shift_);
    if (at >= *used_)
        *used_ = at + 1;
    now_ = &spans_[at];
    now_begin_ = origin_ + (uint64_t(at) << shift_);
    now_ticks_ = uint64_t(1) << shift_;
}

template <class Each> void Timeline::each_span(uint64_t from, uint64_t to, Each&& each) noexcept {
    while (from < to) {
        const uint64_t at = from >> shift_;
        const uint64_t next = (at + 1) << shift_;
        const uint64_t end = next < to ? next : to;
        each(spans_[at], end - from);
        from = end;
    }
}

bool Timeline::add_elsewhere(Activity activity, uint64_t from, uint64_t to, uint32_t weight) noexcept {
    if (!spans_)
        return false;
    from = from < origin_ ? 0 : from - origin_;
    to = to < origin_ ? 0 : to - origin_;
    if (to <= from)
        return false;
    const bool is_new = to >> shift_ >= *used_;
    reach(to);
    if (from >> shift_ == to >> shift_)
        now_->ticks[uint32_t(activity)] += (to - from) * weight;
    else
        each_span(from, to, [&](Span& span, uint64_t ticks) { span.ticks[uint32_t(activity)] += ticks; });
    return is_new;
}

void Timeline::region_until(uint32_t region, uint64_t now) noexcept {
    if (!spans_ || now <= origin_)
        return;
    const uint64_t to = now - origin_;
    reach(to);
    each_span(changed_, to, [&](Span& span, uint64_t ticks) { vote(span, region, ticks); });
    changed_ = to;
}

}  // namespace mpiric::profile
