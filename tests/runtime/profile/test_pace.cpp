// The pace of a rank: kinds of call are distinguished, and times of ever fewer of their calls are kept.
#include "profile/pace.hpp"

#include <doctest/doctest.h>
#include <vector>

using namespace mpiric::profile;

namespace {

struct Table {
    std::vector<Pace> rows = std::vector<Pace>(PaceTable::capacity);
    std::vector<PaceTimes> times = std::vector<PaceTimes>(PaceTable::capacity);
    SectionEntry rows_entry = {0, sizeof(Pace), PaceTable::capacity, 0, 0};
    SectionEntry times_entry = {0, sizeof(PaceTimes), PaceTable::capacity, 0, 0};
    PaceTable table;

    Table() { table.begin(rows.data(), times.data(), rows_entry, times_entry); }
};

}  // namespace

TEST_CASE_FIXTURE(Table, "a kind of call is a function, a place and a communicator") {
    CHECK(table.count(0x10, 1, 0, 100));
    CHECK_FALSE(table.count(0x10, 1, 0, 200));
    CHECK(table.count(0x18, 1, 0, 300));
    CHECK(table.count(0x10, 2, 0, 400));
    CHECK(table.count(0x10, 1, 1, 500));
    CHECK(rows_entry.used == 4);
    CHECK(times_entry.used == 4);
    CHECK(rows[0].calls == 2);
    CHECK(rows[1].calls == 1);
    CHECK(times[0].ticks[1] == 200);
    CHECK(times[3].ticks[0] == 500);
}

TEST_CASE_FIXTURE(Table, "of many calls 32 to 64 times stay, in equal steps from the first") {
    for (uint64_t call = 1; call <= 100'000; ++call) {
        table.count(0x10, 1, 0, 10 * call);
        const Pace& row = rows[0];
        REQUIRE(row.calls == call);
        REQUIRE(row.kept <= pace_time_count);
        REQUIRE(row.kept == (call - 1) / row.stride + 1);
    }
    CHECK(rows[0].stride == 2048);
    for (uint32_t at = 0; at < rows[0].kept; ++at)
        CHECK(times[0].ticks[at] == 10 * (1 + at * 2048));
}

TEST_CASE_FIXTURE(Table, "kinds beyond the room are counted as lost, and the others go on") {
    for (uint64_t place = 0; place < PaceTable::capacity + 3; ++place)
        CHECK(table.count(16 * place, 1, 0, 1) == (place < PaceTable::capacity));
    CHECK(rows_entry.lost == 3);
    table.count(0, 1, 0, 2);
    CHECK(rows[0].calls == 2);
}

TEST_CASE_FIXTURE(Table, "times ascend although threads come to be counted in another order than calls end") {
    for (const uint64_t end : {100, 300, 200, 400})
        table.count(0x10, 1, 0, end);
    CHECK(rows[0].calls == 4);
    CHECK(std::vector<uint64_t>(times[0].ticks, times[0].ticks + 4) ==
          std::vector<uint64_t>{100, 300, 300, 400});
}
