// Facts of /proc as text.
#include "check.hpp"
#include "system/text.hpp"

#include <cstring>

using namespace mpiric::system;

int main() {
    CHECK(number_after("VmHWM:\t  12 kB\nRss:   7 kB\n", "Rss:") == 7);
    CHECK(number_after("VmHWM:\t  12 kB\n", "VmHWM:") == 12);
    CHECK(number_after("nothing", "Rss:") == 0);
    const char* facts = "processor\t: 0\nmodel name\t: A  B \nmodel name\t: C";
    char model[8];
    CHECK(text_after(facts, "model name", model, sizeof model) == 4 && std::strcmp(model, "A  B") == 0);
    CHECK(text_after(facts, "model name", model, 3) == 2 && std::strcmp(model, "A ") == 0);
    CHECK(text_after(facts, "flags", model, sizeof model) == 0 && model[0] == '\0');
    const unsigned long mask[2] = {0b1011'0111, 1};
    char cpus[64];
    render_cpus(mask, 128, cpus, sizeof cpus);
    CHECK(std::strcmp(cpus, "0-2,4-5,7,64") == 0);
    char small[6];
    render_cpus(mask, 128, small, sizeof small);
    CHECK(std::strlen(small) < sizeof small);
    const char* list = "0-2,7,64-65\n";
    size_t sum = 0;
    for (Range range; next_range(list, range);)
        sum += range.first + range.last;
    CHECK(sum == 2 + 14 + 129);
    list = "\n";
    Range none;
    CHECK(!next_range(list, none));
    char text[16];
    CHECK(read_file("/proc/self/no-such-file", text, sizeof text) == 0 && text[0] == '\0');
    CHECK(read_file("/proc/self/status", text, sizeof text) == sizeof text - 1);
    return failures != 0;
}
