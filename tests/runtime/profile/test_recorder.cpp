// A rank's tables: what goes in comes out, what finds no room is counted as lost, and the file outlives the
// process.
#include "check.hpp"
#include "profile/lost_pages.hpp"
#include "profile/merged_file.hpp"
#include "profile/recorder.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace mpiric::profile;

namespace {

constexpr const char* names = "MPI_Send send\nMPI_Recv receive\n";

Beginning beginning(const char* directory, bool many_threads = false) {
    return {directory, 3, 8, 0, many_threads, false, 42, names};
}

const SectionEntry& section(const Recorder& recorder, Section kind) {
    return recorder.image().section[uint32_t(kind)];
}

const Cell* cells(const Recorder& recorder) {
    return reinterpret_cast<const Cell*>(reinterpret_cast<const std::byte*>(&recorder.image()) +
                                         section(recorder, Section::cells).offset);
}

void calls_of_one_size_share_a_cell(const char* directory) {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    recorder.count(0, 0, 100, 0, {50, 50, 1}, 0);
    recorder.count(0, 0, 127, 0, {10, 10, 1}, 0);
    recorder.count(0, 0, 128, 0, {10, 10, 1}, 0);
    CHECK(section(recorder, Section::cells).used == 2);
    const Cell& cell = cells(recorder)[0];
    CHECK(cell.calls == 2 && cell.bytes == 227 && cell.ticks == 60 && cell.shortest == 10 &&
          cell.longest == 50);
    CHECK(cell.histogram[4] == 1 && cell.histogram[6] == 1);
    recorder.remove_file();
}

void local_calls_are_all_counted_and_one_in_64_is_timed(const char* directory) {
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

void a_full_table_counts_what_it_loses(const char* directory) {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    for (uint32_t communicator = 0; communicator < 5000; ++communicator)
        recorder.count(0, communicator, 8, 0, {}, 0);
    CHECK(section(recorder, Section::cells).used == 4096);
    CHECK(section(recorder, Section::cells).lost == 5000 - 4096);
    recorder.remove_file();
}

void traffic_is_exact_per_rank_and_kind(const char* directory) {
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

void regions_nest_and_have_cells_of_their_own(const char* directory) {
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
    CHECK(cells(recorder)[0].calls == 2 && cells(recorder)[1].calls == 1);
    recorder.remove_file();
}

void the_compact_image_holds_the_used_entries_only(const char* directory) {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    recorder.count(0, 0, 8, 0, {}, 0);
    recorder.fact("host", "n1");
    std::vector<std::byte> image(recorder.compact_bytes());
    const size_t length = recorder.compact(image.data());
    CHECK(length <= image.size() && length < 2048);
    Image head;
    std::memcpy(&head, image.data(), sizeof head);
    CHECK(head.bytes == length && head.world_rank == 3 && head.section[0].used == 1 &&
          head.section[6].used == 0);
    recorder.remove_file();
}

void the_file_of_a_killed_process_has_its_data(const char* directory) {
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
    CHECK(file != nullptr);
    if (!file)
        return;
    Image head;
    Cell cell;
    CHECK(std::fread(&head, sizeof head, 1, file) == 1 && head.state == uint32_t(State::running));
    std::fseek(file, long(head.section[0].offset), SEEK_SET);
    CHECK(std::fread(&cell, sizeof cell, 1, file) == 1 && cell.bytes == 77);
    std::fclose(file);
    unlink(path);
}

void no_directory_means_no_record_and_a_reason() {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(!recorder.open(beginning("/proc/nowhere"), reason));
    CHECK(reason != nullptr && !recorder.is_open());
}

void memory_takes_the_place_of_a_file_that_cannot_be_made() {
    static Recorder recorder;
    const char* reason = nullptr;
    Beginning asked = beginning("/proc/nowhere");
    asked.or_in_memory = true;
    CHECK(recorder.open(asked, reason));
    CHECK(reason != nullptr && recorder.is_open() && !recorder.is_in_file());
    recorder.count(0, 0, 8, 0, {}, 0);
    CHECK(cells(recorder)[0].calls == 1);
    recorder.remove_file();
}

Recorder whose_file_is_cut;
bool was_told = false;

void calls_go_on_when_the_file_is_cut_short(const char* directory) {
    Recorder& recorder = whose_file_is_cut;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason) && recorder.is_in_file());
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
    recorder.add_communicator({});
    recorder.enter_region("solve");
    recorder.fact("host", "n1");
    CHECK(was_told && !recorder.is_open());
    recorder.remove_file();
}

void a_signal_of_the_same_kind_ends_where_it_would_have() {
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
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

void room_stays_under_two_mebibytes(const char* directory) {
    static Recorder recorder;
    const char* reason = nullptr;
    CHECK(recorder.open(beginning(directory), reason));
    CHECK(recorder.image().bytes + sizeof recorder < 2u << 20);
    recorder.remove_file();
}

void the_checksum_is_that_of_zlib() {
    const char text[] = "123456789";
    CHECK(crc32({reinterpret_cast<const std::byte*>(text), 9}) == 0xCBF43926u);
}

void a_second_run_gets_a_file_of_its_own(const char* directory) {
    const char* reason = nullptr;
    CHECK(write_merged(directory, 1, 1, {}, names, reason));
    CHECK(write_merged(directory, 1, 1, {}, names, reason));
    char path[512];
    std::snprintf(path, sizeof path, "%s/record.mpiric", directory);
    CHECK(unlink(path) == 0);
    std::snprintf(path, sizeof path, "%s/record-2.mpiric", directory);
    CHECK(unlink(path) == 0);
    CHECK(!write_merged("/proc/nowhere", 1, 1, {}, names, reason) && reason != nullptr);
}

}  // namespace

int main() {
    char directory[] = "/tmp/mpiric-recorder-XXXXXX";
    CHECK(mkdtemp(directory) != nullptr);
    calls_of_one_size_share_a_cell(directory);
    local_calls_are_all_counted_and_one_in_64_is_timed(directory);
    a_full_table_counts_what_it_loses(directory);
    traffic_is_exact_per_rank_and_kind(directory);
    regions_nest_and_have_cells_of_their_own(directory);
    the_compact_image_holds_the_used_entries_only(directory);
    the_file_of_a_killed_process_has_its_data(directory);
    no_directory_means_no_record_and_a_reason();
    memory_takes_the_place_of_a_file_that_cannot_be_made();
    calls_go_on_when_the_file_is_cut_short(directory);
    a_signal_of_the_same_kind_ends_where_it_would_have();
    room_stays_under_two_mebibytes(directory);
    the_checksum_is_that_of_zlib();
    a_second_run_gets_a_file_of_its_own(directory);
    CHECK(rmdir(directory) == 0);
    return failures != 0;
}
