// Reads orders of ranks from files, and runs the mapping engine (src/mapper) as a process of its own.
#include "order/order.hpp"

#include "base/text.hpp"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace mpiric::order {

namespace {

std::string_view trimmed(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const auto first = line.find_first_not_of(" \t\r");
    if (first == line.npos)
        return {};
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

/// Takes the slots of all lines; the problem with the first line that has one, empty when none has.
std::string take_slots(std::string_view text, int32_t size, std::vector<int32_t>& slots) {
    std::vector<bool> taken(static_cast<size_t>(size), false);
    for (int number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        const std::string_view word = trimmed(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        if (word.empty())
            continue;
        const std::string where = "line " + std::to_string(number) + ": ";
        int32_t slot = -1;
        if (!read_number(word, slot))
            return where + "`" + std::string(word.substr(0, 40)) + "` is not the number of a slot";
        if (slot < 0 || slot >= size)
            return where + "slot " + std::to_string(slot) + " is none of the " + std::to_string(size) +
                   " of this run";
        if (taken[size_t(slot)])
            return where + "slot " + std::to_string(slot) + " is taken twice";
        taken[size_t(slot)] = true;
        slots.push_back(slot);
    }
    if (slots.size() != size_t(size))
        return std::to_string(slots.size()) + " slots for " + std::to_string(size) + " ranks";
    return "";
}

/// A directory of our own, removed at the end with the two files in it.
class Directory {
  public:
    Directory() {
        const char* base = std::getenv("TMPDIR");
        path_ = std::string(base && *base ? base : "/tmp") + "/mpiric-order-XXXXXX";
        made_ = mkdtemp(path_.data()) != nullptr;
    }
    ~Directory() {
        if (!made_)
            return;
        unlink(problem().c_str());
        unlink(order().c_str());
        rmdir(path_.c_str());
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    bool made() const { return made_; }
    std::string problem() const { return path_ + "/problem"; }
    std::string order() const { return path_ + "/order"; }

  private:
    std::string path_;
    bool made_ = false;
};

/// Numbers of one width, padded to 64 bits at the end.
template <class Number, class Values> void put(std::string& file, const Values& values) {
    for (const auto value : values) {
        const auto number = static_cast<Number>(value);
        file.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    file.append((8 - file.size() % 8) % 8, '\0');
}

/// Both directions of every exchange, each pair once in either row.
std::vector<Arc> symmetric(std::vector<Arc> arcs) {
    const size_t count = arcs.size();
    for (size_t at = 0; at < count; ++at)
        arcs.push_back({arcs[at].to, arcs[at].from, arcs[at].weight});
    std::erase_if(arcs, [](const Arc& arc) { return arc.from == arc.to; });
    std::sort(arcs.begin(), arcs.end(), [](const Arc& left, const Arc& right) {
        return std::pair(left.from, left.to) < std::pair(right.from, right.to);
    });
    std::vector<Arc> merged;
    for (const Arc& arc : arcs)
        if (!merged.empty() && merged.back().from == arc.from && merged.back().to == arc.to)
            merged.back().weight += arc.weight;
        else
            merged.push_back(arc);
    return merged;
}

/// The form of src/mapper/problem_file.hpp.
std::string problem_of(const std::vector<Arc>& arcs, const std::vector<int32_t>& node_of_slot,
                       const std::vector<int32_t>& given) {
    const size_t vertices = given.size();
    std::vector<uint64_t> offsets(vertices + 1, 0);
    std::vector<int32_t> targets;
    std::vector<int64_t> weights;
    for (const Arc& arc : arcs) {
        ++offsets[size_t(arc.from) + 1];
        targets.push_back(arc.to);
        weights.push_back(arc.weight);
    }
    for (size_t at = 0; at < vertices; ++at)
        offsets[at + 1] += offsets[at];
    constexpr uint64_t levels = 2;
    std::string file = "MPIRMAP2";
    put<uint64_t>(file,
                  std::vector<uint64_t>{vertices, arcs.size(), vertices, levels, 0, 0, 0, 0, 0, 0, 0, 0});
    put<uint64_t>(file, offsets);
    put<uint32_t>(file, targets);
    put<int64_t>(file, weights);
    put<int64_t>(file, std::vector<int64_t>(vertices, 1));
    put<int64_t>(file, std::vector<int64_t>{1, 10});
    put<uint32_t>(file, node_of_slot);
    put<uint32_t>(file, std::vector<uint32_t>(vertices, 0));
    put<uint32_t>(file, given);
    return file;
}

bool write_file(const std::string& path, const std::string& text) {
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wbxe"), std::fclose);
    return file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
           std::fflush(file.get()) == 0;
}

/// Runs the engine without what is preloaded here; its status, or why it could not be started.
std::string run(const char* engine, const Directory& directory) {
    std::vector<char*> environment;
    for (char** entry = environ; *entry; ++entry)
        if (!std::string_view(*entry).starts_with("LD_PRELOAD="))
            environment.push_back(*entry);
    environment.push_back(nullptr);
    std::string words[] = {engine, directory.problem(), directory.order(), "--preset", "fast"};
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int output : {STDOUT_FILENO, STDERR_FILENO})
        posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int error = posix_spawn(&child, engine, &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return std::string(engine) + ": " + std::strerror(error);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)  // the program takes the ends of all its children itself
            return "";
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : std::string(engine) + " failed";
}

}  // namespace

SlotOrder read_order(const char* path, int32_t size) noexcept {
    SlotOrder order;
    try {
        std::string text;
        order.problem = std::string(path) + ": ";
        if (!read_file(path, text)) {
            order.problem += std::strerror(errno);
            return order;
        }
        const std::string problem = take_slots(text, size, order.slots);
        order.problem = problem.empty() ? "" : order.problem + problem;
    } catch (const std::exception&) {
        order.problem.assign("no memory");  // short enough to need none
    }
    if (!order.is_valid())
        order.slots.clear();
    return order;
}

std::vector<int32_t> ranks_by_slot(std::span<const int32_t> slots) {
    std::vector<int32_t> ranks(slots.size());
    for (size_t rank = 0; rank < slots.size(); ++rank)
        ranks[size_t(slots[rank])] = int32_t(rank);
    return ranks;
}

SlotOrder place(const char* engine, std::vector<Arc> arcs, const std::vector<int32_t>& node_of_slot,
                const std::vector<int32_t>& given) noexcept {
    SlotOrder placed;
    try {
        const Directory directory;
        const std::string text = problem_of(symmetric(std::move(arcs)), node_of_slot, given);
        if (!directory.made() || !write_file(directory.problem(), text)) {
            placed.problem = std::string("no room for its files: ") + std::strerror(errno);
            return placed;
        }
        placed.problem = run(engine, directory);
        if (placed.is_valid())
            placed = read_order(directory.order().c_str(), int32_t(given.size()));
    } catch (const std::exception&) {
        placed.problem.assign("no memory");
    }
    return placed;
}

}  // namespace mpiric::order
