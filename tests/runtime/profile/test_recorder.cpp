// A rank's tables: entries are read back, entries beyond the capacity are counted as lost, and the file
// outlives the process.
#include "profile/lost_pages.hpp"
#include "profile/merged_file.hpp"
#include "profile/recorder.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace mpiric::profile;

namespace {

constexpr const char* names = "MPI_Send send\nMPI_Recv receive\n";

Beginning beginning(const char* directory, bool many_threads = false) {
    return {directory, 3, 8, 0, many_threads, false, 42, names};
}

/// A directory for a test, empty again at its end.
struct InDirectory {
    char directory[32] = "/tmp/mpiric-recorder-XXXXXX";
    InDirectory() { REQUIRE(mkdtemp(directory) != nullptr); }
    ~InDirectory() { CHECK(rmdir(directory) == 0); }
};

const SectionEntry& section(const Recorder& recorder, Section kind) {
    return recorder.image().section[uint32_t(kind)];
}

const Cell* cells(const Recorder& recorder) {
    return reinterpret_cast<const Cell*>(reinterpret_cast<const std::byte*>(&recorder.image()) +
                                         section(recorder, Section::cells).offset);
}

const Call* calls(const Recorder& recorder) {
    return reinterpret_cast<const Call*>(reinterpret_cast<const std::byte*>(&recorder.image()) +
                                         section(recorder, Section::calls).offset);
}

TEST_CASE_FIXTURE(InDirectory, "calls that start requests stay, all others share one entry") {
    static Recorder recorder;
    Call other;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    for (uint64_t number = 1; number <= 3; ++number) {
        Call& call = recorder.entered(other);
        CHECK(&call == &calls(recorder)[number - 1]);
        recorder.keep(call, number);
        CHECK(&recorder.entered(other) == &recorder.entered(other));
    }
    CHECK(calls(recorder)[0].other == 1);
    CHECK(calls(recorder)[2].other == 3);
    for (uint32_t more = 3; more < section(recorder, Section::calls).capacity; ++more)
        recorder.keep(recorder.entered(other), 0);
    CHECK(&recorder.entered(other) == &calls(recorder)[0]);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "calls of other threads are not shown") {
    static Recorder recorder;
    Call other;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory, true), reason));
    CHECK(&recorder.entered(other) == &calls(recorder)[0]);
    std::thread([&] { CHECK(&recorder.entered(other) != &calls(recorder)[0]); }).join();
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "the latest size of a datatype counts") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    recorder.datatype(17, 8);
    recorder.datatype(18, 4);
    recorder.datatype(17, 16);
    const SectionEntry& types = section(recorder, Section::datatypes);
    const auto* rows = reinterpret_cast<const Datatype*>(
        reinterpret_cast<const std::byte*>(&recorder.image()) + types.offset);
    uint64_t bytes = 0;
    for (uint32_t at = 0; at < types.used; ++at)
        bytes += rows[at].handle == 17 ? rows[at].bytes : 0;
    CHECK(bytes == 16);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "a communicator has its handle") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    recorder.add_communicator({}, 17);
    CHECK(recorder.add_communicator({}, 18) == 1);
    const auto* handles = reinterpret_cast<const Handle*>(
        reinterpret_cast<const std::byte*>(&recorder.image()) + section(recorder, Section::handles).offset);
    CHECK(section(recorder, Section::handles).used == 2);
    CHECK(handles[1].value == 18);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "calls of one size share a cell") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    recorder.count(0, 0, 100, 0, {50, 50, 1}, 0);
    recorder.count(0, 0, 127, 0, {10, 10, 1}, 0);
    recorder.count(0, 0, 128, 0, {10, 10, 1}, 0);
    CHECK(section(recorder, Section::cells).used == 2);
    const Cell& cell = cells(recorder)[0];
    CHECK(cell.calls == 2);
    CHECK(cell.bytes == 227);
    CHECK(cell.ticks == 60);
    CHECK(cell.shortest == 10);
    CHECK(cell.longest == 50);
    CHECK(cell.histogram[4] == 1);
    CHECK(cell.histogram[6] == 1);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "local calls are all counted and one in 64 is timed") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    int timed = 0;
    for (int call = 0; call < 129; ++call)
        timed += recorder.count_local(*recorder.local(1));
    CHECK(timed == 3);
    CHECK(recorder.local(1)->calls == 129);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "a full table counts what it loses") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    for (uint32_t communicator = 0; communicator < 5000; ++communicator)
        recorder.count(0, communicator, 8, 0, {}, 0);
    CHECK(section(recorder, Section::cells).used == 4096);
    CHECK(section(recorder, Section::cells).lost == 5000 - 4096);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "traffic is exact per rank and kind") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    for (int round = 0; round < 3; ++round) {
        recorder.traffic(Traffic::message, 7, 10);
        recorder.traffic(Traffic::put, 7, 1);
        recorder.traffic(Traffic::message, -1, 5);
    }
    CHECK(section(recorder, Section::peers).used == 3);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "regions nest and have cells of their own") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    recorder.count(0, 0, 8, 0, {}, 0);
    recorder.enter_region("solve");
    recorder.count(0, 0, 8, 0, {}, 0);
    recorder.leave_region();
    recorder.leave_region();  // one too many is nothing
    recorder.count(0, 0, 8, 0, {}, 0);
    CHECK(section(recorder, Section::cells).used == 2);
    CHECK(cells(recorder)[0].calls == 2);
    CHECK(cells(recorder)[1].calls == 1);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "the compact image holds the used entries only") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    recorder.count(0, 0, 8, 0, {}, 0);
    recorder.fact("host", "n1");
    std::vector<std::byte> image(recorder.compact_bytes());
    const size_t length = recorder.compact(image.data());
    REQUIRE(length <= image.size());
    CHECK(length < 2048);
    Image head;
    std::memcpy(&head, image.data(), sizeof head);
    CHECK(head.bytes == length);
    CHECK(head.world_rank == 3);
    CHECK(head.section[0].used == 1);
    CHECK(head.section[6].used == 0);
    recorder.remove_file();
}

TEST_CASE_FIXTURE(InDirectory, "the file of a killed process has its data") {
    const pid_t child = fork();
    if (child == 0) {
        static Recorder recorder;
        const char* reason = nullptr;
        recorder.open(beginning(directory), reason);
        recorder.count(1, 0, 77, 0, {5, 5, 1}, 0);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    char host[65] = {}, path[512];
    gethostname(host, sizeof host - 1);
    std::snprintf(path, sizeof path, "%s/rank-3.%s.%d.part", directory, host, int(child));
    std::FILE* file = std::fopen(path, "rb");
    REQUIRE(file != nullptr);
    Image head;
    Cell cell;
    REQUIRE(std::fread(&head, sizeof head, 1, file) == 1);
    CHECK(head.state == uint32_t(State::running));
    std::fseek(file, long(head.section[0].offset), SEEK_SET);
    REQUIRE(std::fread(&cell, sizeof cell, 1, file) == 1);
    CHECK(cell.bytes == 77);
    std::fclose(file);
    unlink(path);
}

TEST_CASE("no directory means no record and a reason") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(!recorder.open(beginning("/proc/nowhere"), reason));
    REQUIRE(reason != nullptr);
    CHECK(!recorder.is_open());
}

TEST_CASE("memory takes the place of a file that cannot be made") {
    static Recorder recorder;
    const char* reason = nullptr;
    Beginning asked = beginning("/proc/nowhere");
    asked.or_in_memory = true;
    CHECK(recorder.open(asked, reason));
    REQUIRE(reason != nullptr);
    CHECK(recorder.is_open());
    CHECK(!recorder.is_in_file());
    recorder.count(0, 0, 8, 0, {}, 0);
    CHECK(cells(recorder)[0].calls == 1);
    recorder.remove_file();
}

Recorder whose_file_is_cut;
bool was_told = false;

TEST_CASE_FIXTURE(InDirectory, "calls go on when the file is cut short") {
    Recorder& recorder = whose_file_is_cut;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    CHECK(recorder.is_in_file());
    guard_pages(&recorder.image(), recorder.image().bytes, []() noexcept {
        whose_file_is_cut.lose();
        was_told = true;
    });
    recorder.count(0, 0, 8, 0, {}, 0);
    char host[65] = {}, path[512];
    gethostname(host, sizeof host - 1);
    std::snprintf(path, sizeof path, "%s/rank-3.%s.%d.part", directory, host, int(getpid()));
    CHECK(truncate(path, 0) == 0);
    recorder.count(0, 0, 8, 0, {}, 0);
    recorder.traffic(Traffic::message, 7, 10);
    recorder.add_communicator({}, 0);
    recorder.enter_region("solve");
    recorder.fact("host", "n1");
    REQUIRE(was_told);
    CHECK(!recorder.is_open());
    recorder.remove_file();
}

TEST_CASE("a signal of the same kind ends where it would have") {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL);
        static char page;
        guard_pages(&page, 1, []() noexcept { _exit(1); });
        raise(SIGBUS);
        _exit(2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGBUS);
}

TEST_CASE_FIXTURE(InDirectory, "room stays under two mebibytes") {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    CHECK(recorder.image().bytes + sizeof recorder < 2u << 20);
    recorder.remove_file();
}

TEST_CASE("the checksum agrees with zlib") {
    const char text[] = "123456789";
    CHECK(crc32({reinterpret_cast<const std::byte*>(text), 9}) == 0xCBF43926u);
}

TEST_CASE_FIXTURE(InDirectory, "a second run gets a file of its own") {
    const char* reason = nullptr;
    CHECK(write_merged(directory, 1, 1, {}, names, reason));
    CHECK(write_merged(directory, 1, 1, {}, names, reason));
    char path[512];
    std::snprintf(path, sizeof path, "%s/record.mpiric", directory);
    CHECK(unlink(path) == 0);
    std::snprintf(path, sizeof path, "%s/record-2.mpiric", directory);
    CHECK(unlink(path) == 0);
    CHECK(!write_merged("/proc/nowhere", 1, 1, {}, names, reason));
    CHECK(reason != nullptr);
}

}  // namespace
