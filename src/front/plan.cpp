#include "plan.hpp"

#include "files.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace mpiric::front {
namespace {

constexpr std::string_view format = "mpiric plan 1";

// Fields that end with a zero byte; reading past the end makes all that follows wrong, so it is asked once.
class Fields {
  public:
    explicit Fields(std::string_view text) : left_{text} {}

    std::string next() {
        const auto end = left_.find('\0');
        if (end == std::string_view::npos) {
            is_whole_ = false;
            return "";
        }
        std::string field{left_.substr(0, end)};
        left_.remove_prefix(end + 1);
        return field;
    }

    std::size_t number() {
        const std::string text = next();
        std::size_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        is_whole_ = is_whole_ && error == std::errc{} && end == text.data() + text.size();
        return is_whole_ ? value : 0;
    }

    std::vector<std::string> list() {
        std::vector<std::string> found;
        for (auto left = number(); left > 0; --left)
            found.push_back(next());
        return found;
    }

    bool is_whole() const { return is_whole_; }

  private:
    std::string_view left_;
    bool is_whole_ = true;
};

// Nobody else may have had a hand in what is going to be run.
std::optional<std::string> read_own(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return std::nullopt;
    struct stat state{};
    std::optional<std::string> contents;
    if (fstat(file, &state) == 0 && state.st_uid == geteuid() && (state.st_mode & 022) == 0)
        contents = read_descriptor(file);
    close(file);
    return contents;
}

bool is_unchanged(const std::string& name, const std::string& path, const std::string& modified_ns,
                  const std::string& size_bytes) {
    struct stat state{};
    if (name != path && find_program(name) != path)
        return false;
    if (stat(path.c_str(), &state) != 0)
        return false;
    const auto ns = std::int64_t{state.st_mtim.tv_sec} * 1'000'000'000 + state.st_mtim.tv_nsec;
    return std::to_string(ns) == modified_ns && std::to_string(state.st_size) == size_bytes;
}

bool are_unchanged(Fields& fields) {
    for (auto left = fields.number(); left > 0; --left) {
        const auto name = fields.next(), found = fields.next(), modified = fields.next(),
                   size = fields.next();
        if (!is_unchanged(name, found, modified, size))
            return false;
    }
    return true;
}

std::string working_directory() {
    char* name = getcwd(nullptr, 0);
    std::string found = name != nullptr ? name : "";
    std::free(name);
    return found;
}

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : text)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return hash;
}

}  // namespace

std::string plan_path(const std::string& key) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    std::string root;
    if (cache != nullptr && *cache == '/')
        root = cache;
    else if (home != nullptr && *home == '/')
        root = std::string{home} + "/.cache";
    else
        return "";
    return root + "/mpiric/plans/" + std::to_string(fnv1a(key));
}

std::optional<Plan> load_plan(const std::string& path, const std::string& key, const Request& request) {
    const auto text = read_own(path);
    if (!text)
        return std::nullopt;
    Fields fields{*text};
    if (fields.next() != format || fields.next() != key)
        return std::nullopt;
    if (!are_unchanged(fields))
        return std::nullopt;
    const std::string where = working_directory() + "/" + request.source();
    for (auto left = fields.number(); left > 0; --left)
        if (where.find(fields.next()) != std::string::npos)
            return std::nullopt;
    Plan plan{};
    plan.sentences = fields.next();
    plan.retry = fields.number() != 0;
    plan.baseline_alone = fields.number() != 0;
    plan.directories = fields.list();
    for (auto left = fields.number(); left > 0; --left) {
        Step step{fields.next(), fields.next(), fields.next(), {}};
        step.argv = fields.list();
        plan.steps.push_back(step);
    }
    if (!fields.is_whole() || plan.steps.empty())
        return std::nullopt;
    return plan;
}

std::optional<Question> load_question(const std::string& path, const std::string& key) {
    const auto text = read_own(path);
    if (!text)
        return std::nullopt;
    Fields fields{*text};
    if (fields.next() != format || fields.next() != key || !are_unchanged(fields))
        return std::nullopt;
    Question question{};
    question.marks = fields.list();
    question.own_words = fields.list();
    question.named = fields.number();
    question.compiler = fields.list();
    if (!fields.is_whole() || question.compiler.empty())
        return std::nullopt;
    return question;
}

bool is_asked(const Question& question, const std::vector<std::string>& words) {
    const auto begins = [](const std::string& word) {
        return [&word](const std::string& start) { return word.starts_with(start); };
    };
    const std::string where = working_directory() + "/";
    bool has_mark = false;
    for (const auto& word : words) {
        if (std::ranges::any_of(question.own_words, begins(word)))
            return false;
        const std::string path = where + word;
        has_mark =
            has_mark || (!word.starts_with('-') && std::ranges::any_of(question.marks, [&](const auto& mark) {
                return path.find(mark) != std::string::npos;
            }));
    }
    return has_mark && words.size() >= question.named;
}

std::string filled(const std::string& word, const Request& request, const std::string& scratch) {
    std::string out;
    for (std::size_t at = 0; at < word.size(); ++at) {
        const auto end = word[at] == hole ? word.find(hole, at + 1) : std::string::npos;
        if (end == std::string::npos) {
            out += word[at];
            continue;
        }
        const std::string name = word.substr(at + 1, end - at - 1);
        std::size_t number = 0;
        std::from_chars(name.data(), name.data() + name.size(), number);
        if (name == "scratch")
            out += scratch;
        else if (number == request.changing.front())
            out += request.source().substr(0, request.source().size() - request.ending.size());
        else if (number < request.words.size())
            out += request.words[number];
        at = end;
    }
    return out;
}

std::vector<std::string> all_filled(const std::vector<std::string>& words, const Request& request,
                                    const std::string& scratch) {
    std::vector<std::string> out;
    out.reserve(words.size());
    for (const auto& word : words)
        out.push_back(filled(word, request, scratch));
    return out;
}

}  // namespace mpiric::front
