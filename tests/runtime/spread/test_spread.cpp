// Where files lie that are spread over subdirectories.
#include <doctest/doctest.h>

#include "posix/posix.hpp"
#include "spread/found.hpp"
#include "spread/place.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <unistd.h>

using namespace mpiric::spread;
namespace fs = std::filesystem;

/// In the runtime the next definition after it; here there is but one.
void* mpiric::libc_posix(uint32_t) noexcept { return reinterpret_cast<void*>(&syscall); }

namespace {

struct Directory {
    Directory() {
        char name[] = "/tmp/mpiric-spread-XXXXXX";
        path = mkdtemp(name);
    }
    ~Directory() { fs::remove_all(path); }
    fs::path path;
};

std::string spread(const char* path, const char* rules) { return Place(path, rules).spread(); }

}  // namespace

TEST_CASE("a file that fits a rule lies in a subdirectory beside its place") {
    CHECK(spread("out/a.1", "b* 2;a.* 1") == "out/mpiric-spread/00/a.1");
    CHECK(spread("a.1", "a.* 1") == "mpiric-spread/00/a.1");
    CHECK(spread("/a.1", "a.* 1") == "/mpiric-spread/00/a.1");
}

TEST_CASE("a file that fits none lies in its place") {
    for (const char* path : {"out/b", "", "a.1/", "mpiric-spread/00/a.1", "out/mpiric-spread/00/a.1"})
        CHECK_FALSE(Place(path, "a.* 2").is_spread());
    CHECK_FALSE(Place(nullptr, "a.* 2").is_spread());
    CHECK_FALSE(Place("a.1", "").is_spread());
}

TEST_CASE("a rule without a number of subdirectories is none") {
    for (const char* rules : {"a.*", "a.* x", "a.* 0", "a.* -1", "a.* 3x", "a.* 99999"})
        CHECK_FALSE(Place("a.1", rules).is_spread());
}

TEST_CASE("a path that becomes too long is left as it is") {
    const std::string path = std::string(PATH_MAX - 8, 'd') + "/a.1";
    CHECK_FALSE(Place(path.c_str(), "a.* 2").is_spread());
}

TEST_CASE("files are spread over all subdirectories") {
    std::set<std::string> seen;
    for (int file = 0; file < 256; ++file)
        seen.insert(fs::path(spread(("a." + std::to_string(file)).c_str(), "a.* 16")).parent_path());
    CHECK(seen.size() == 16);
}

TEST_CASE("a file is made in its subdirectory and found there") {
    const Directory directory;
    spread_by("a.* 4");
    const std::string path = directory.path / "a.1";
    CHECK(Found(AT_FDCWD, path.c_str()).path() == path);
    Found found(AT_FDCWD, path.c_str(), Found::Use::makes);
    const std::string made = found.path();
    CHECK(found.make_room());
    CHECK(found.path() == made);
    CHECK(made == Place(path.c_str(), "a.* 4").spread());
    CHECK(fs::is_directory(fs::path(made).parent_path()));
    std::string line;
    std::getline(std::ifstream(directory.path / "mpiric-spread/manifest"), line);
    CHECK(line == "mpiric spread 1");
    std::ofstream(made) << "x";
    CHECK(Found(AT_FDCWD, path.c_str()).path() == made);
}

TEST_CASE("a file that is in its own place stays there") {
    const Directory directory;
    spread_by("a.* 4");
    const std::string path = directory.path / "a.1";
    std::ofstream(path) << "x";
    Found found(AT_FDCWD, path.c_str(), Found::Use::makes);
    CHECK(found.path() == path);
    CHECK_FALSE(found.make_room());
    CHECK_FALSE(fs::exists(directory.path / "mpiric-spread"));
}

TEST_CASE("a file is made where a link in its place leads, also one that leads to no file yet") {
    const Directory directory;
    spread_by("a.* 4");
    const std::string path = directory.path / "a.1";
    fs::create_symlink("other", path);
    CHECK(Found(AT_FDCWD, path.c_str(), Found::Use::makes).path() == path);
    std::ofstream(directory.path / "other") << "x";
    CHECK(Found(AT_FDCWD, path.c_str(), Found::Use::makes).path() == path);
    CHECK(Found(AT_FDCWD, path.c_str()).path() == path);
}

TEST_CASE("where no subdirectory can be made, files are made in their place, and errno stays") {
    spread_by("a.* 4");
    errno = 7;
    Found found(AT_FDCWD, "/proc/a.1", Found::Use::makes);
    CHECK(errno == 7);
    CHECK(found.make_room());
    CHECK(std::string(found.path()) == "/proc/a.1");
}

TEST_CASE("where another has put a link in the place of the subdirectories, files are made in their place") {
    const Directory directory;
    spread_by("a.* 1");
    const std::string path = directory.path / "a.1";
    fs::create_directories(directory.path / "elsewhere/00");
    std::ofstream(directory.path / "elsewhere/00/a.1") << "planted";
    fs::create_symlink("elsewhere", directory.path / "mpiric-spread");
    CHECK(Found(AT_FDCWD, path.c_str()).path() == path);
    CHECK(Found(AT_FDCWD, path.c_str(), Found::Use::makes).path() == path);
    fs::remove_all(directory.path / "elsewhere/00");
    Found found(AT_FDCWD, path.c_str(), Found::Use::makes);
    CHECK(found.make_room());
    CHECK(found.path() == path);
    CHECK(fs::is_empty(directory.path / "elsewhere"));
}
