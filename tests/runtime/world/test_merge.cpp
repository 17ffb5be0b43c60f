// Images of all ranks go up a tree into one file; ranks are threads.
#include "ranks.hpp"

#include "profile/format.hpp"
#include "profile/recorder.hpp"
#include "world/merge.hpp"

#include <atomic>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace mpiric;

namespace {

constexpr const char* names = "MPI_Send send\n";

struct InDirectory {
    char directory[32] = "/tmp/mpiric-merge-XXXXXX";
    InDirectory() { REQUIRE(mkdtemp(directory) != nullptr); }
    ~InDirectory() { std::filesystem::remove_all(directory); }
};

/// Record of a rank: nothing at all, or calls on `cells` communicators.
struct Recording {
    bool recorded = true;
    uint32_t cells = 1;
};

/// Ranks whose merge() came out true.
int merge_on(int size, const char* directory, const std::vector<Recording>& recordings,
             world::Made when = world::Made::at_beginning) {
    std::atomic<int> merged{0};
    ranks::run(size, [&](int rank) {
        const MPI_Comm comm = world::make_merge_comm(when);
        const auto recorder = std::make_unique<profile::Recorder>();
        const Recording recording = recordings[size_t(rank) % recordings.size()];
        const char* reason = nullptr;
        if (recording.recorded) {
            profile::Beginning beginning{"/proc/nowhere", rank, size, 0, false, false, 42, names};
            beginning.or_in_memory = true;
            CHECK(recorder->open(beginning, reason));
            for (uint32_t cell = 0; cell < recording.cells; ++cell)
                recorder->count(0, cell, 8, 0, {}, 0);
        }
        world::Merging merging{.comm = comm,
                               .directory = directory,
                               .recorder = recording.recorded ? recorder.get() : nullptr,
                               .world_rank = rank,
                               .world_size = size,
                               .names = names,
                               .first_number = 1};
        merged += world::merge(merging);
        CHECK(merging.comm == world::handles.comm_null);
        recorder->remove_file();
    });
    return merged;
}

/// Ranks in the merged file, in their order; each entry leads to an image of that rank.
std::vector<uint32_t> ranks_in(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    profile::MergedHead head;
    REQUIRE(bytes.size() >= sizeof head);
    std::memcpy(&head, bytes.data(), sizeof head);
    REQUIRE(head.bytes == bytes.size());
    CHECK(bytes.substr(head.names_offset) == names);
    std::vector<uint32_t> found;
    for (uint64_t offset = head.index_offset; offset < head.names_offset;
         offset += sizeof(profile::MergedEntry)) {
        profile::MergedEntry entry;
        std::memcpy(&entry, bytes.data() + offset, sizeof entry);
        profile::Image image;
        std::memcpy(&image, bytes.data() + entry.offset, sizeof image);
        CHECK(image.bytes == entry.bytes);
        CHECK(image.world_rank == int32_t(entry.rank));
        found.push_back(entry.rank);
    }
    return found;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "all ranks end in one file, in their order") {
    for (const int size : {1, 2, 3, 4, 7}) {
        CAPTURE(size);
        CHECK(merge_on(size, directory, {{}}) == size);
        const std::string path = std::string(directory) + "/record.mpiric";
        std::vector<uint32_t> expected(size_t(size), 0);
        for (int rank = 0; rank < size; ++rank)
            expected[size_t(rank)] = uint32_t(rank);
        CHECK(ranks_in(path) == expected);
        std::filesystem::remove(path);
    }
}

TEST_CASE_FIXTURE(InDirectory, "spawned ranks make their communicator at the end") {
    CHECK(merge_on(3, directory, {{}}, world::Made::at_end) == 3);
}

TEST_CASE_FIXTURE(InDirectory, "bundles beyond the first piece are sent when their parent has room") {
    CHECK(merge_on(4, directory, {{true, 4000}}) == 4);
    CHECK(ranks_in(std::string(directory) + "/record.mpiric").size() == 4);
    CHECK(std::filesystem::file_size(std::string(directory) + "/record.mpiric") >
          4 * 4000 * sizeof(profile::Cell));
}

TEST_CASE_FIXTURE(InDirectory, "a rank that recorded nothing still takes part") {
    CHECK(merge_on(4, directory, {{}, {false}, {}, {}}) == 4);
    CHECK(ranks_in(std::string(directory) + "/record.mpiric") == std::vector<uint32_t>{0, 2, 3});
}

TEST_CASE("when the file cannot be written every rank keeps its own") {
    CHECK(merge_on(4, "/proc/nowhere", {{}}) == 0);
}
