// Solution of a problem: all applicable algorithms propose an order; the best proposal is refined and kept.
#pragma once

#include "problem_file.hpp"
#include "quality.hpp"

namespace mpiric::mapper {

enum class Preset { fast, eco, strong };
enum class Objective { hop_bytes, worst_link };

struct Settings {
    Preset preset = Preset::eco;
    Objective objective = Objective::hop_bytes;
    std::uint64_t seed = 1;
    unsigned threads = 1;
    double limit_s = 0;  // 0: no limit; with a limit, the result depends on the speed of the machine
};

struct Solution {
    Slots slot_of;
    std::string algorithm;
    std::vector<std::pair<std::string, double>> proposals;  // hop-bytes of each algorithm
};

Solution solve(const Problem& problem, const Settings& settings);

}  // namespace mpiric::mapper
