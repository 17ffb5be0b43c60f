// Rules by file name: `PATTERN WORDS;PATTERN WORDS`, patterns as in fnmatch(3), of the last part of a path.
#pragma once

#include <string_view>

namespace mpiric {

/// The words of the first rule whose pattern fits; empty when none does.
std::string_view words_for(const char* path, std::string_view rules) noexcept;

/// Removes the text before the first `end`, and that character, from `text`; returns the removed text.
std::string_view cut(std::string_view& text, char end) noexcept;

}  // namespace mpiric
