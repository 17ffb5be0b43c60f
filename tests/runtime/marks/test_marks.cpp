// A rank's marks: the calls that are marks, the counts up to the last one, and the contents of the file.
#include "marks/marks.hpp"

#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <initializer_list>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpiric;
using namespace mpiric::marks;

namespace {

/// Addresses below 4096 belong to `app`, others to no file.
void locate(uint64_t address, Location& location) {
    if (address < 4096)
        std::strcpy(location.module, "app");
    location.offset = address;
}

struct InDirectory {
    char directory[32] = "/tmp/mpiric-marks-XXXXXX";
    std::unique_ptr<Marks> marks = std::make_unique<Marks>();
    Mark mark;

    InDirectory() { REQUIRE(mkdtemp(directory) != nullptr); }
    ~InDirectory() {
        unlink(path().c_str());
        CHECK(rmdir(directory) == 0);
    }
    std::string path() const {
        char host[65] = {};
        gethostname(host, sizeof host - 1);
        return std::string(directory) + "/rank-3." + host + "." + std::to_string(getpid()) + ".marks";
    }
    Arming arming(const char* text, const Mark* asked) const {
        return {directory, text, asked, 3, 8, 0, false, 42, 5, 6, locate};
    }
    bool open(const char* text) {
        const bool understood = read_mark(text, mark);
        const char* reason = nullptr;
        return marks->open(arming(text, understood ? &mark : nullptr), reason);
    }
    const Result* results() const {
        const auto* head = reinterpret_cast<const std::byte*>(&marks->head());
        return reinterpret_cast<const Result*>(head + sizeof(Head) +
                                               sizeof(MarkCommunicator) * communicator_count +
                                               sizeof(Module) * module_count);
    }
    void add(uint64_t address, uint32_t function, double value) {
        marks->add_result(address, function, "MPI_Allreduce", 0, &value, sizeof value,
                          {ElementKind::floating, 8});
    }
};

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "times alone take the head alone") {
    REQUIRE(open("main"));
    struct stat status{};
    REQUIRE(stat(path().c_str(), &status) == 0);
    CHECK(status.st_size == sizeof(Head));
    CHECK(marks->head().bytes == sizeof(Head));
    CHECK(marks->head().world_rank == 3);
    CHECK(std::string(marks->head().mark) == "main");
}

TEST_CASE_FIXTURE(InDirectory, "the two marks are the calls of these numbers") {
    REQUIRE(open("MPI_Barrier@*@*:2,4"));
    const Passed expected[] = {Passed::neither, Passed::first, Passed::before_last, Passed::last};
    for (const Passed passed : expected) {
        marks->count_collective(8);
        marks->count_send(100);
        CHECK(marks->count_marked() == passed);
    }
    const Head& head = marks->head();
    CHECK(head.at_first.counts.collective_calls == 2);
    CHECK(head.at_first.counts.send_bytes == 200);
    CHECK(head.at_last.counts.collective_bytes == 32);
    CHECK(head.at_last.counts.send_calls == 4);
    CHECK(head.at_first.ns <= head.at_last.ns);
    CHECK(head.calls == 4);
}

TEST_CASE_FIXTURE(InDirectory, "the step before the last mark begins with the call before it") {
    REQUIRE(open("MPI_Barrier@*@*:1,2"));
    CHECK(marks->count_marked() == Passed::before_last);
    CHECK(marks->head().at_first.ns != 0);
    CHECK(marks->count_marked() == Passed::last);
}

TEST_CASE_FIXTURE(InDirectory, "messages may be sent in any order, and each of their bits counts") {
    REQUIRE(open("MPI_Barrier@*@*:1,2"));
    const auto digest_of = [&](uint64_t address, std::initializer_list<double> values) {
        for (const double value : values)
            marks->add_message(address, 9, "MPI_Send", 0, &value, sizeof value, {ElementKind::floating, 8});
        return results()[marks->head().results - 1].digest;
    };
    const uint64_t once = digest_of(0x10, {1, 2, 2});
    CHECK(digest_of(0x20, {2, 1, 2}) == once);
    CHECK(digest_of(0x30, {1, 2, 3}) != once);
    CHECK(digest_of(0x40, {1, 2}) != once);
    CHECK(results()[0].results == 3);
}

TEST_CASE_FIXTURE(InDirectory, "times are kept of ever fewer calls, evenly") {
    REQUIRE(open("MPI_Barrier@*@*:5,1000"));
    for (int call = 0; call < 1000; ++call)
        marks->count_marked();
    const Head& head = marks->head();
    CHECK(head.stride == 16);
    CHECK(head.kept == 63);  // calls 1, 17, …, 993
    CHECK(head.next == 1009);
    for (uint32_t at = 1; at < head.kept; ++at)
        CHECK(head.times_ns[at - 1] <= head.times_ns[at]);
    CHECK(head.at_first.ns != 0);
    CHECK(head.at_last.ns != 0);
}

TEST_CASE_FIXTURE(InDirectory, "a call is the mark's by its place and its communicator") {
    REQUIRE(open("MPI_Barrier@app+0x10@4.1:1,2"));
    const uint32_t world = marks->add_communicator(4), pair = marks->add_communicator(2);
    CHECK_FALSE(marks->is_marked(0x10, Marks::no_communicator));
    const uint32_t copy = marks->add_communicator(4), another = marks->add_communicator(4);
    for (int twice = 0; twice < 2; ++twice) {
        CHECK(marks->is_marked(0x10, copy));
        CHECK_FALSE(marks->is_marked(0x11, copy));
        CHECK_FALSE(marks->is_marked(0x10 + 4096, copy));
    }
    for (const uint32_t other : {world, pair, another, Marks::no_communicator})
        CHECK_FALSE(marks->is_marked(0x10, other));
}

TEST_CASE_FIXTURE(InDirectory, "communicators beyond the capacity share one row that is not a mark") {
    REQUIRE(open("MPI_Barrier@*@2.255:1,2"));
    for (uint32_t made = 0; made < 300; ++made)
        CHECK(marks->add_communicator(2) == (made < 255 ? made : Marks::no_communicator));
    CHECK_FALSE(marks->is_marked(0x10, Marks::no_communicator));
}

TEST_CASE_FIXTURE(InDirectory, "results are digested by place, function and communicator") {
    REQUIRE(open("MPI_Barrier@*@*:1,2"));
    marks->add_communicator(4);
    add(0x10, 7, 1.5);
    add(0x10, 7, 2.5);
    add(0x10, 8, 2.5);
    add(0x20, 7, 2.5);
    CHECK(marks->head().results == 3);
    CHECK(marks->head().modules == 1);
    CHECK(results()[0].results == 2);
    CHECK(results()[0].offset == 0x10);
    CHECK(std::string(results()[0].function) == "MPI_Allreduce");
    CHECK(results()[0].kind == uint32_t(Kind::floating));
    double latest = 0;
    std::memcpy(&latest, results()[0].last, sizeof latest);
    CHECK(latest == 2.5);
    CHECK(results()[1].digest == results()[2].digest);
    CHECK(results()[0].digest != results()[1].digest);
}

TEST_CASE_FIXTURE(InDirectory, "results from more places than there is room for are counted as lost") {
    REQUIRE(open("MPI_Barrier@*@*:1,2"));
    for (uint64_t address = 0; address < result_count + 10; ++address)
        add(8 * address, 7, 1.0);
    add(0, 7, 1.0);
    CHECK(marks->head().results == result_count);
    CHECK(marks->head().lost == 10);
    CHECK(results()[0].results == 2);
}

TEST_CASE("a directory that cannot be written to is a reason, not a crash") {
    const auto marks = std::make_unique<Marks>();
    const char* reason = nullptr;
    CHECK_FALSE(marks->open({"/proc/none", "main", nullptr, 0, 1, 0, false, 1, 1, 1, locate}, reason));
    CHECK(reason != nullptr);
    CHECK_FALSE(marks->is_open());
}
