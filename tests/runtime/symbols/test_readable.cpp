// A pointer that may be anything is read only when it can be.
#include "symbols/modules.hpp"

#include <cstring>
#include <doctest/doctest.h>
#include <sys/mman.h>

using mpiric::symbols::read_text;

TEST_CASE("a pointer is read only when it leads to a short printable text") {
    char text[40];
    CHECK(read_text("solve", text, sizeof text));
    CHECK(std::strcmp(text, "solve") == 0);
    CHECK(!read_text(nullptr, text, sizeof text));
    CHECK(!read_text(reinterpret_cast<void*>(8), text, sizeof text));
    CHECK(!read_text("\x01\x02", text, sizeof text));
    CHECK(!read_text("", text, sizeof text));
}

TEST_CASE("a text is read up to the end of the mapping") {
    char text[40];
    auto* pages =
        static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(pages + 4096, 4096);
    std::strcpy(pages + 4096 - 5, "edge");
    CHECK(read_text(pages + 4096 - 5, text, sizeof text));
    CHECK(std::strcmp(text, "edge") == 0);
    std::memcpy(pages + 4096 - 4, "edge", 4);
    CHECK(!read_text(pages + 4096 - 4, text, sizeof text));
}
