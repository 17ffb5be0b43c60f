#include "graphs.hpp"

#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <new>

using namespace mpiric::mapper;
using namespace mpiric::mapper::testing;

namespace {

template <class T, class Values> void put(std::string& bytes, const Values& values) {
    for (const auto& value : values) {
        const auto number = static_cast<T>(value);
        bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    bytes.append((8 - bytes.size() % 8) % 8, '\0');
}

// A line of vertices on two nodes of two slots, with one link each way; `capacity` as in the file.
std::string written(std::size_t vertices, std::uint64_t capacity) {
    const Graph graph = grid({vertices}, false);
    std::vector<Vertex> targets;
    for (const Arc& arc : graph.arcs)
        targets.push_back(arc.target);
    const bool has_resource = capacity == 0;
    std::string bytes = "MPIRMAP2";
    put<std::uint64_t>(bytes, std::vector<std::uint64_t>{vertices, targets.size(), 4, 2, 2, 1, capacity, 2, 0,
                                                         2, has_resource, 0});
    put<std::uint64_t>(bytes, graph.offsets);
    put<std::uint32_t>(bytes, targets);
    put<std::int64_t>(bytes, std::vector<int>(targets.size(), 3));
    put<std::int64_t>(bytes, std::vector<int>(vertices, 1));
    put<std::int64_t>(bytes, std::vector<int>{1, 10});
    put<std::uint32_t>(bytes, std::vector<int>{0, 0, 1, 1});
    put<std::uint32_t>(bytes, std::vector<int>{0, 0, 0, 0});
    put<std::int64_t>(bytes, std::vector<int>{0, 10, 10, 0});
    put<std::uint64_t>(bytes, std::vector<std::size_t>{vertices});
    std::vector<std::size_t> given(vertices, 0);
    if (capacity == 0)
        std::iota(given.begin(), given.end(), std::size_t{0});
    put<std::uint32_t>(bytes, given);
    put<std::int64_t>(bytes, std::vector<int>{16, 16});
    put<std::uint64_t>(bytes, std::vector<int>{0, 0, 1, 2, 2});
    put<std::uint32_t>(bytes, std::vector<int>{0, 1});
    if (has_resource)
        put<std::int64_t>(bytes, std::vector<int>(vertices, 2));
    return bytes;
}

// One change: a byte, a number of 64 or 32 bits at an end of its range, a part left out or repeated.
void change(std::string& bytes, Random& random) {
    constexpr std::array<std::uint64_t, 10> ends = {
        0, 1, 3, 255, 1ULL << 31U, (1ULL << 32U) - 1, 1ULL << 32U, 1ULL << 41U, ~0ULL >> 1U, ~0ULL};
    if (bytes.size() < 16)
        return;
    const std::uint64_t number = ends.at(random.below(ends.size()));
    const std::size_t at = random.below(bytes.size() / 8 - 1) * 8;
    switch (random.below(5)) {
    case 0:
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
        break;
    case 1:
        std::memcpy(bytes.data() + at, &number, 8);
        break;
    case 2:
        std::memcpy(bytes.data() + at + 4, &number, 4);
        break;
    case 3:
        bytes.erase(at, 8 * (1 + random.below(4)));
        break;
    default:
        bytes.insert(at, bytes.substr(at, 8));
    }
}

}  // namespace

TEST_CASE("a problem with anything changed in it is refused or solved") {
    const auto path = std::filesystem::temp_directory_path() / "mpiric-mapper-changed-problem";
    Random random{5};
    std::size_t solved = 0;
    std::size_t refused = 0;
    for (std::size_t round = 0; round < 1500; ++round) {
        std::string bytes = round % 2 == 0 ? written(4, 0) : written(9, 3);
        for (std::size_t changes = round < 2 ? 0 : 1 + random.below(3); changes > 0; --changes)
            change(bytes, random);
        std::ofstream{path, std::ios::binary} << bytes;
        try {
            const Problem problem = read_problem(path.string());
            const Objective objective = round % 3 == 0 ? Objective::worst_link : Objective::hop_bytes;
            const Solution found = solve(problem, {Preset::fast, objective, 1, 1, 0});
            REQUIRE(found.slot_of.size() == problem.graph.size());
            REQUIRE(std::all_of(found.slot_of.begin(), found.slot_of.end(),
                                [&](std::uint32_t slot) { return slot < problem.machine.slots; }));
            ++solved;
        } catch (const ProblemError&) {
            REQUIRE(round >= 2);
            ++refused;
        }
    }
    std::filesystem::remove(path);
    CHECK(solved > 100);
    CHECK(refused > 100);
}
