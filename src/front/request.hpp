// A command line as the front sees it: the words that change from file to file, and the key made from all
// others.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mpiric::front {

// Encloses the name of a placeholder in the words of a key and of a plan.
inline constexpr char hole = '\x1f';

struct Request {
    std::string verb;                // "cc", "cxx" or "fc"
    std::vector<std::string> words;  // includes -o, also if the compiler would have chosen the name
    std::vector<std::size_t>
        changing;        // positions of the words that name files of this compilation, the source's first
    std::string ending;  // suffix of the source, with its dot

    const std::string& source() const { return words[changing.front()]; }

    // All that decides how the file is compiled, but not which file it is.
    std::string key() const;

    // The placeholders' positions, separated by spaces; Python needs them to write a plan.
    std::string positions() const;
};

// The environment that Python looks at, as part of a key.
std::string settings();

// Nothing where the words are not the compilation of one source to one object.
std::optional<Request> read_request(const std::string& verb, std::vector<std::string> words);

}  // namespace mpiric::front
