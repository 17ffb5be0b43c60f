// Facts of /proc as text.
#include "system/text.hpp"

#include <cstring>
#include <doctest/doctest.h>

using namespace mpiric::system;

TEST_CASE("a number is found after its label at the start of a line") {
    CHECK(number_after("VmHWM:\t  12 kB\nRss:   7 kB\n", "Rss:") == 7);
    CHECK(number_after("VmHWM:\t  12 kB\n", "VmHWM:") == 12);
    CHECK(number_after("nothing", "Rss:") == 0);
}

TEST_CASE("the first text after a label is taken, cut at the room there is") {
    const char* facts = "processor\t: 0\nmodel name\t: A  B \nmodel name\t: C";
    char model[8];
    CHECK(text_after(facts, "model name", model, sizeof model) == 4);
    CHECK(std::strcmp(model, "A  B") == 0);
    CHECK(text_after(facts, "model name", model, 3) == 2);
    CHECK(std::strcmp(model, "A ") == 0);
    CHECK(text_after(facts, "flags", model, sizeof model) == 0);
    CHECK(model[0] == '\0');
}

TEST_CASE("a set of CPUs is written as a list, cut at the room there is") {
    const unsigned long mask[2] = {0b1011'0111, 1};
    char cpus[64];
    render_cpus(mask, 128, cpus, sizeof cpus);
    CHECK(std::strcmp(cpus, "0-2,4-5,7,64") == 0);
    char small[6];
    render_cpus(mask, 128, small, sizeof small);
    CHECK(std::strlen(small) < sizeof small);
}

TEST_CASE("ranges of a list are read one after the other") {
    const char* list = "0-2,7,64-65\n";
    size_t sum = 0;
    for (Range range; next_range(list, range);)
        sum += range.first + range.last;
    CHECK(sum == 2 + 14 + 129);
    list = "\n";
    Range none;
    CHECK(!next_range(list, none));
}

TEST_CASE("a file is read up to the room there is, and a missing one is empty") {
    char text[16];
    CHECK(read_file("/proc/self/no-such-file", text, sizeof text) == 0);
    CHECK(text[0] == '\0');
    CHECK(read_file("/proc/self/status", text, sizeof text) == sizeof text - 1);
}
