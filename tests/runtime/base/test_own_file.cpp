// Files where other users may write.
#include <doctest/doctest.h>

#include "base/own_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace mpiric;
namespace fs = std::filesystem;

namespace {

struct Directory {
    Directory() {
        char name[] = "/tmp/mpiric-own-XXXXXX";
        path = mkdtemp(name);
        std::ofstream(path / "private") << "private";
    }
    ~Directory() { fs::remove_all(path); }
    std::string of(const char* name) const { return path / name; }
    std::string private_text() const {
        std::string text;
        std::ifstream(path / "private") >> text;
        return text;
    }
    fs::path path;
};

}  // namespace

TEST_CASE("a file is created, and its name is then taken") {
    const Directory directory;
    const int file = create_file(directory.of("new").c_str(), O_WRONLY, 0600);
    CHECK(file >= 0);
    close(file);
    CHECK(create_file(directory.of("new").c_str(), O_WRONLY, 0600) == -1);
    CHECK(errno == EEXIST);
}

TEST_CASE("links are not followed") {
    const Directory directory;
    fs::create_symlink("private", directory.path / "link");
    fs::create_symlink("nowhere", directory.path / "dangling");
    for (const char* name : {"link", "dangling"}) {
        CHECK(create_file(directory.of(name).c_str(), O_WRONLY, 0600) == -1);
        CHECK(open_to_append(directory.of(name).c_str(), 0600) == -1);
    }
    CHECK_FALSE(fs::exists(directory.path / "nowhere"));
    CHECK(directory.private_text() == "private");
}

TEST_CASE("a file that has another name is not appended to") {
    const Directory directory;
    fs::create_hard_link(directory.path / "private", directory.path / "planted");
    CHECK(open_to_append(directory.of("planted").c_str(), 0600) == -1);
    CHECK(errno == EPERM);
    CHECK(directory.private_text() == "private");
}

TEST_CASE("a FIFO is not waited for") {
    const Directory directory;
    REQUIRE(mkfifo(directory.of("fifo").c_str(), 0600) == 0);
    CHECK(open_to_append(directory.of("fifo").c_str(), 0600) == -1);
}
