// Small files of /proc and /sys, and numbers as text; no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpiric::system {

/// Contents of a small file, cut at the room there is; empty when it cannot be read. Returns its length.
size_t read_file(const char* path, char* to, size_t room) noexcept;

/// The number after `label` at the start of a line, 0 when there is none.
uint64_t number_after(const char* text, const char* label) noexcept;

/// Copies the text after `label` and a colon on the first line that begins with it, cut at the room there is;
/// empty when no line does. Returns its length.
size_t text_after(const char* text, const char* label, char* to, size_t room) noexcept;

struct Range {
    size_t first = 0, last = 0;
};

/// Takes the first range off a list like `0-3,8`; false when nothing is left that is one.
bool next_range(const char*& list, Range& range) noexcept;

/// A set of CPUs as a list of ranges, `0-3,8`.
void render_cpus(const unsigned long* mask, size_t bits, char* to, size_t room) noexcept;

}  // namespace mpiric::system
