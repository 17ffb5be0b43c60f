// Orders of ranks as files list them.
#include "order/order.hpp"

#include <cstdio>
#include <doctest/doctest.h>
#include <fstream>
#include <unistd.h>

using namespace mpiric::order;

namespace {

SlotOrder read(const char* text, int32_t size) {
    char path[] = "/tmp/mpiric-order-XXXXXX";
    close(mkstemp(path));
    std::ofstream(path) << text;
    SlotOrder order = read_order(path, size);
    // The path differs from run to run.
    if (order.problem.starts_with(path))
        order.problem.erase(0, sizeof path + 1);
    unlink(path);
    return order;
}

TEST_CASE("line r holds the slot of rank r") {
    const SlotOrder order = read("2\n0\n1\n", 3);
    CHECK(order.is_valid());
    CHECK(order.slots == std::vector<int32_t>{2, 0, 1});
    CHECK(ranks_by_slot(order.slots) == std::vector<int32_t>{1, 2, 0});
}

TEST_CASE("comments, blanks and a missing end of the last line are understood") {
    CHECK(read("# of today\n\n 1 # the first\r\n0", 2).slots == std::vector<int32_t>{1, 0});
}

TEST_CASE("an invalid order is reported with its line") {
    CHECK(read("0\n0\n", 2).problem == "line 2: slot 0 is taken twice");
    CHECK(read("0\n2\n", 2).problem == "line 2: slot 2 is none of the 2 of this run");
    CHECK(read("0\n-1\n", 2).problem == "line 2: slot -1 is none of the 2 of this run");
    CHECK(read("0\n1 2\n", 2).problem == "line 2: `1 2` is not the number of a slot");
    CHECK(read("0\n99999999999\n", 2).problem == "line 2: `99999999999` is not the number of a slot");
    CHECK(read("0\n", 2).problem == "1 slots for 2 ranks");
    CHECK(read("0\n1\n2\n", 2).problem == "line 3: slot 2 is none of the 2 of this run");
    CHECK(read("", 2).problem == "0 slots for 2 ranks");
}

TEST_CASE("a file that cannot be read is a problem") {
    const SlotOrder order = read_order("/nowhere/order", 2);
    CHECK(order.problem == "/nowhere/order: No such file or directory");
    CHECK(order.slots.empty());
    CHECK(!read_order("/", 2).is_valid());
}

}  // namespace
