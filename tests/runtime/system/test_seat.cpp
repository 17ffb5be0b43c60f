// The domain and package of a process, from trees like /sys.
#include "system/process.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <string>

using namespace mpiric;
using namespace mpiric::system;
namespace fs = std::filesystem;

namespace {

/// A directory in the place of /sys, gone at the end.
class Tree {
  public:
    Tree() {
        char name[] = "/tmp/mpiric-sysXXXXXX";
        root_ = mkdtemp(name);
    }
    ~Tree() { fs::remove_all(root_); }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << '\n';
    }
    void domains(const std::string& list) const { write("devices/system/node/online", list); }
    void domain(int number, const std::string& cpus) const {
        write("devices/system/node/node" + std::to_string(number) + "/cpulist", cpus);
    }
    void package(int cpu, int number) const {
        write("devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id",
              std::to_string(number));
    }
    Seat seat(unsigned long cpus, unsigned long more_cpus = 0) const {
        const unsigned long mask[2] = {cpus, more_cpus};
        return read_seat(root_.c_str(), mask, 128);
    }

  private:
    fs::path root_;
};

bool is(const Seat& seat, int domain, int package) {
    return seat.domain == domain && seat.package == package;
}

/// Two packages of two domains of two cores with two threads each.
TEST_CASE("two packages of two domains") {
    const Tree tree;
    tree.domains("0-3");
    for (int domain = 0; domain < 4; ++domain) {
        const int first = 2 * domain, second = first + 8;
        tree.domain(domain, std::to_string(first) + "-" + std::to_string(first + 1) + "," +
                                std::to_string(second) + "-" + std::to_string(second + 1));
        for (const int cpu : {first, first + 1, second, second + 1})
            tree.package(cpu, domain / 2);
    }
    CHECK(is(tree.seat(1u << 0), 0, 0));
    CHECK(is(tree.seat(1u << 11), 1, 0));
    CHECK(is(tree.seat(1u << 4 | 1u << 13), 2, 1));
    CHECK(is(tree.seat(1u << 4 | 1u << 6), -1, 1));
    CHECK(is(tree.seat(1u << 3 | 1u << 4), -1, -1));
    CHECK(is(tree.seat(0xFFFF), -1, -1));
    CHECK(is(tree.seat(0), -1, -1));
}

TEST_CASE("high numbers and domains of memory alone") {
    const Tree tree;
    tree.domains("0,2-3");
    tree.domain(0, "");
    tree.domain(2, "0-63");
    tree.domain(3, "64-127");
    tree.package(70, 36);
    CHECK(is(tree.seat(0, 1u << 6), 3, 36));
    CHECK(is(tree.seat(1), 2, -1));
}

TEST_CASE("seats are unknown where files are missing") {
    const Tree tree;
    CHECK(is(tree.seat(1), -1, -1));
    tree.domains("0-1");
    tree.domain(0, "0");
    CHECK(is(tree.seat(1), 0, -1));
    CHECK(is(tree.seat(2), -1, -1));
    tree.package(0, -1);
    CHECK(is(tree.seat(1), 0, -1));
}

}  // namespace
