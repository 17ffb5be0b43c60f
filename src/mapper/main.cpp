// mpiric-mapper PROBLEM ORDER [--preset fast|eco|strong] [--objective hop-bytes|worst-link] [--seed S]
// [--threads N] [--time-limit SECONDS]
//
// Reads a problem (problem_file.hpp), writes the slot of each vertex, one per line, and prints as JSON the
// algorithm that proposed the order, the cost of each proposal, and the time. Exit status 2: invalid
// arguments or problem.
#include "solve.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <malloc.h>
#include <map>
#include <new>
#include <string_view>

namespace {

using namespace mpiric::mapper;

template <class T> T number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw ProblemError("not a number: " + std::string{text});
    return value;
}

template <class T> T one_of(const std::map<std::string_view, T>& names, std::string_view name) {
    const auto found = names.find(name);
    if (found == names.end())
        throw ProblemError("not known: " + std::string{name});
    return found->second;
}

Settings settings_of(const std::vector<std::string_view>& words) {
    Settings settings;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        if (words[i] == "--preset")
            settings.preset = one_of<Preset>(
                {{"fast", Preset::fast}, {"eco", Preset::eco}, {"strong", Preset::strong}}, words[i + 1]);
        else if (words[i] == "--objective")
            settings.objective = one_of<Objective>(
                {{"hop-bytes", Objective::hop_bytes}, {"worst-link", Objective::worst_link}}, words[i + 1]);
        else if (words[i] == "--seed")
            settings.seed = number<std::uint64_t>(words[i + 1]);
        else if (words[i] == "--time-limit")
            settings.limit_s = number<double>(words[i + 1]);
        else if (words[i] == "--threads")
            settings.threads = number<unsigned>(words[i + 1]);
        else
            throw ProblemError("unknown option " + std::string{words[i]});
    }
    return settings;
}

// Vectors of many megabytes are allocated and freed often: the kernel would clear memory that was returned to
// it, page by page, each time.
void keep_memory() {
    constexpr int most = 1 << 30;
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, most);
    mallopt(M_TOP_PAD, 1 << 26);
}

void run(const std::string& problem_path, const std::string& order_path, const Settings& settings) {
    const auto start = std::chrono::steady_clock::now();
    const Problem problem = read_problem(problem_path);
    const Solution solution = solve(problem, settings);
    write_order(order_path, solution.slot_of);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("{\"algorithm\": \"%s\", \"proposals\": {", solution.algorithm.c_str());
    const char* separator = "";
    for (const auto& [name, cost] : solution.proposals) {
        std::printf("%s\"%s\": %.17g", separator, name.c_str(), cost);
        separator = ", ";
    }
    std::printf("}, \"seconds\": %.6f}\n", seconds);
}

}  // namespace

int main(int argc, char** argv) {
    keep_memory();
    try {
        const std::vector<std::string_view> words(argv + 1, argv + argc);
        if (words.size() < 2 || words.size() % 2 != 0)
            throw ProblemError("usage: mpiric-mapper PROBLEM ORDER [--preset NAME] [--objective NAME] "
                               "[--seed S] [--threads N] [--time-limit SECONDS]");
        run(std::string{words[0]}, std::string{words[1]}, settings_of({words.begin() + 2, words.end()}));
        return 0;
    } catch (const ProblemError& error) {
        std::fprintf(stderr, "%s\n", error.what());
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "not enough memory\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return 2;
}
