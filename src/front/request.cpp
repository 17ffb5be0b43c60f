#include "request.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unistd.h>

namespace mpiric::front {
namespace {

constexpr std::array<std::string_view, 25> endings = {
    ".c",   ".cc",  ".cp",  ".cpp", ".cxx", ".c++", ".CPP", ".C",   ".f",   ".for", ".ftn", ".fpp", ".f77",
    ".f90", ".f95", ".f03", ".f08", ".F",   ".FOR", ".F77", ".F90", ".F95", ".F03", ".F08", ".S"};
constexpr std::array<std::string_view, 4> names_a_file = {"-o", "-MF", "-MT", "-MQ"};
// Environment variables that affect Python's plan, except for variables that only change how it is carried
// out.
constexpr std::array<std::string_view, 5> matters = {"MPIRIC_", "OMPI_", "MPICH_", "I_MPI_", "PATH="};
constexpr std::array<std::string_view, 2> does_not = {"MPIRIC_JOBS=", "MPIRIC_PLAN"};

std::string ending_of(std::string_view word) {
    const auto slash = word.rfind('/');
    const auto name = slash == std::string_view::npos ? word : word.substr(slash + 1);
    const auto dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0)
        return "";
    return std::string{name.substr(dot)};
}

bool is_source(std::string_view word) {
    return !word.starts_with('-') && std::ranges::find(endings, ending_of(word)) != endings.end();
}

std::string object_of(const Request& request) {
    const std::string& source = request.source();
    const auto slash = source.rfind('/');
    const std::string name = slash == std::string::npos ? source : source.substr(slash + 1);
    return name.substr(0, name.size() - request.ending.size()) + ".o";
}

bool is_plain(const std::string& word) {
    return !word.starts_with('@') && word.find(hole) == std::string::npos;
}

}  // namespace

std::string settings() {
    std::vector<std::string_view> found;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view setting = *entry;
        const auto begins = [&](auto start) { return setting.starts_with(start); };
        if (std::ranges::any_of(matters, begins) && std::ranges::none_of(does_not, begins))
            found.push_back(setting);
    }
    std::ranges::sort(found);
    std::string text;
    for (const auto setting : found)
        (text += hole) += setting;
    return text;
}

std::string Request::key() const {
    std::string text = verb;
    for (std::size_t at = 0; at < words.size(); ++at) {
        text += hole;
        if (std::ranges::find(changing, at) == changing.end())
            text += words[at];
        else
            text += at == changing.front() ? hole + ending : std::string{hole};
    }
    return text + settings();
}

std::string Request::positions() const {
    std::string text;
    for (const auto at : changing)
        text += (text.empty() ? "" : " ") + std::to_string(at);
    return text;
}

std::optional<Request> read_request(const std::string& verb, std::vector<std::string> words) {
    Request request{verb, std::move(words), {}, ""};
    std::vector<std::size_t> sources;
    std::vector<std::size_t> named;
    bool compiles = false;
    bool has_output = false;
    for (std::size_t at = 0; at < request.words.size(); ++at) {
        const std::string& word = request.words[at];
        if (!is_plain(word) || word == "-")
            return std::nullopt;
        compiles = compiles || word == "-c";
        has_output = has_output || word.starts_with("-o");
        if (std::ranges::find(names_a_file, word) != names_a_file.end() && at + 1 < request.words.size())
            named.push_back(++at);
        else if (is_source(word))
            sources.push_back(at);
    }
    if (!compiles || sources.size() != 1)
        return std::nullopt;
    request.changing = std::move(sources);
    request.changing.insert(request.changing.end(), named.begin(), named.end());
    request.ending = ending_of(request.source());
    if (!has_output) {
        request.words.insert(request.words.end(), {"-o", object_of(request)});
        request.changing.push_back(request.words.size() - 1);
    }
    const bool are_plain = std::ranges::all_of(named, [&](auto at) { return is_plain(request.words[at]); });
    return are_plain ? std::optional{request} : std::nullopt;
}

}  // namespace mpiric::front
