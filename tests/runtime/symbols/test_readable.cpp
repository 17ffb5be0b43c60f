// A pointer that may be anything is read only when it can be.
#include "check.hpp"
#include "symbols/readable.hpp"

#include <cstring>
#include <sys/mman.h>

using mpiric::symbols::read_text;

int main() {
    char text[40];
    CHECK(read_text("solve", text, sizeof text) && std::strcmp(text, "solve") == 0);
    CHECK(!read_text(nullptr, text, sizeof text));
    CHECK(!read_text(reinterpret_cast<void*>(8), text, sizeof text));
    CHECK(!read_text("\x01\x02", text, sizeof text));
    CHECK(!read_text("", text, sizeof text));
    auto* pages =
        static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(pages + 4096, 4096);
    std::strcpy(pages + 4096 - 5, "edge");
    CHECK(read_text(pages + 4096 - 5, text, sizeof text) && std::strcmp(text, "edge") == 0);
    std::memcpy(pages + 4096 - 4, "edge", 4);
    CHECK(!read_text(pages + 4096 - 4, text, sizeof text));
    return failures != 0;
}
