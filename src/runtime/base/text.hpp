// Text that options and files hold: words, numbers, rules by file name.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace mpiric {

/// The words of the first rule in `PATTERN WORDS;PATTERN WORDS` whose pattern (fnmatch(3)) fits the last part
/// of a path; empty when none does.
std::string_view words_for(const char* path, std::string_view rules) noexcept;

/// Removes the text before the first `end`, and that character, from `text`; returns the removed text.
std::string_view cut(std::string_view& text, char end) noexcept;

/// Reads a text that is a number as a whole; false when it is none.
template <class Number> bool read_number(std::string_view text, Number& number, int base = 10) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    return error == std::errc{} && end == text.data() + text.size();
}

/// Appends the contents of a file to `text`; false, with errno, when it cannot be read.
bool read_file(const char* path, std::string& text);

}  // namespace mpiric
