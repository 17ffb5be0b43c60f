// A run of any length fits the same spans, and no time is lost when two of them become one.
#include "profile/timeline.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>

using namespace mpiric::profile;

namespace {

constexpr uint64_t origin = 1000;
constexpr uint64_t first_span = 1u << 18;

struct Run {
    Span spans[span_count] = {};
    uint64_t span_ticks = 0;
    uint32_t used = 0;
    Timeline timeline;

    Run() { timeline.begin(spans, span_ticks, used, origin); }
    uint64_t total(Activity activity) const {
        return std::accumulate(spans, spans + used, uint64_t(0), [&](uint64_t sum, const Span& span) {
            return sum + span.ticks[uint32_t(activity)];
        });
    }
};

TEST_CASE("time goes to the span in which it was spent") {
    Run run;
    run.timeline.add(Activity::collective, origin + 10, origin + 30);
    run.timeline.add(Activity::collective, origin + first_span + 10, origin + first_span + 15);
    CHECK(run.used == 2);
    CHECK(run.spans[0].ticks[uint32_t(Activity::collective)] == 20);
    CHECK(run.spans[1].ticks[uint32_t(Activity::collective)] == 5);
}

TEST_CASE("a long call fills the spans it lasts") {
    Run run;
    run.timeline.add(Activity::point_to_point, origin + first_span / 2, origin + 3 * first_span);
    CHECK(run.spans[0].ticks[0] == first_span / 2);
    CHECK(run.spans[1].ticks[0] == first_span);
    CHECK(run.spans[2].ticks[0] == first_span);
    CHECK(run.spans[3].ticks[0] == 0);
}

TEST_CASE("a long run makes spans longer and loses nothing") {
    Run run;
    uint64_t spent = 0;
    for (uint64_t at = 0; at < 1'000'000; ++at) {
        run.timeline.add(Activity::files, origin + at * 1000, origin + at * 1000 + 100);
        spent += 100;
    }
    CHECK(run.total(Activity::files) == spent);
    CHECK(run.used == 999'999'100 / run.span_ticks + 1);
    CHECK(run.used <= span_count);
    CHECK(run.used > span_count / 2);
}

TEST_CASE("a jump far ahead is reached at once") {
    Run run;
    run.timeline.add(Activity::other_mpi, origin, origin + 7);
    run.timeline.add(Activity::other_mpi, origin + (1ull << 50), origin + (1ull << 50) + 3);
    CHECK(run.total(Activity::other_mpi) == 10);
    CHECK(run.spans[0].ticks[uint32_t(Activity::other_mpi)] == 7);
}

TEST_CASE("time before the recording is not counted") {
    Run run;
    run.timeline.add(Activity::collective, origin - 500, origin + 5);
    run.timeline.add(Activity::collective, origin - 500, origin - 5);
    CHECK(run.total(Activity::collective) == 5);
}

TEST_CASE("calls that represent others weigh more") {
    Run run;
    run.timeline.add(Activity::point_to_point, origin, origin + 10, 17);
    CHECK(run.total(Activity::point_to_point) == 170);
}

TEST_CASE("the region of a span is the one with most of its time") {
    Run run;
    run.timeline.region_until(0, origin + first_span / 4);
    run.timeline.region_until(5, origin + first_span);
    run.timeline.region_until(0, origin + 2 * first_span + first_span / 8);
    CHECK(run.spans[0].region == 5);
    CHECK(run.spans[1].region == 0);
    run.timeline.region_until(3, origin + 300 * first_span);
    CHECK(run.spans[10].region == 3);
}

}  // namespace
