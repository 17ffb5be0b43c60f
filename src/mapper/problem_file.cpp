#include "problem_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>

namespace mpiric::mapper {
namespace {

constexpr std::uint64_t largest_count = 1ULL << 32U;
constexpr double largest_sum =
    0x1p62;  // limit of weights times distances, so that their sums fit into 64 bits

class Input {
  public:
    explicit Input(const std::string& path) : stream_{path, std::ios::binary | std::ios::ate} {
        if (!stream_)
            throw ProblemError("cannot read " + path);
        left_bytes_ = static_cast<std::uint64_t>(stream_.tellg());
        stream_.seekg(0);
    }

    // Limits allocation to the numbers in the file.
    template <class T> std::vector<T> numbers(std::uint64_t count) {
        if (count > left_bytes_ / sizeof(T))
            throw ProblemError("the problem ends early");
        left_bytes_ -= count * sizeof(T);
        std::vector<T> found(count);
        const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
        stream_.read(reinterpret_cast<char*>(found.data()), bytes);
        stream_.ignore((8 - bytes % 8) % 8);
        if (!stream_ || stream_.gcount() != (8 - bytes % 8) % 8)
            throw ProblemError("the problem ends early");
        left_bytes_ -= std::min<std::uint64_t>(left_bytes_, static_cast<std::uint64_t>((8 - bytes % 8) % 8));
        return found;
    }

  private:
    std::ifstream stream_;
    std::uint64_t left_bytes_ = 0;
};

void expect(bool is_right, const char* what) {
    if (!is_right)
        throw ProblemError(std::string{"not a problem of this engine: "} + what);
}

double sum(const std::vector<Weight>& values) {
    double total = 0;
    for (const Weight value : values) {
        expect(value >= 0, "a number is negative");
        total += static_cast<double>(value);
    }
    return total;
}

Weight farthest(const std::vector<Weight>& distances) {
    return distances.empty() ? 0 : *std::max_element(distances.begin(), distances.end());
}

Graph read_graph(Input& input, std::uint64_t vertices, std::uint64_t arcs) {
    Graph graph;
    const auto offsets = input.numbers<std::uint64_t>(vertices + 1);
    const auto targets = input.numbers<std::uint32_t>(arcs);
    const auto weights = input.numbers<std::int64_t>(arcs);
    graph.vertex_weights = input.numbers<std::int64_t>(vertices);
    expect(offsets.front() == 0 && offsets.back() == arcs, "offsets");
    graph.offsets.assign(offsets.begin(), offsets.end());
    graph.arcs.reserve(arcs);
    for (std::size_t i = 0; i < arcs; ++i) {
        expect(targets[i] < vertices && weights[i] > 0, "arcs");
        graph.arcs.push_back({weights[i], targets[i]});
    }
    for (std::size_t v = 0; v < vertices; ++v)
        expect(offsets[v] <= offsets[v + 1], "rows");
    expect(sum(graph.vertex_weights) < largest_sum / 4, "weights of vertices");
    return graph;
}

Machine read_machine(Input& input, std::uint64_t slots, std::uint64_t levels, std::uint64_t outer) {
    Machine machine;
    machine.slots = slots;
    machine.distances = input.numbers<std::int64_t>(levels);
    const auto ends_at = [&](std::size_t level, std::size_t slot) {
        return machine.groups[level][slot] != machine.groups[level][slot - 1];
    };
    for (std::uint64_t level = 0; level < levels; ++level) {
        machine.groups.push_back(input.numbers<std::uint32_t>(slots));
        const auto& group = machine.groups.back();
        expect(group.front() == 0, "groups");
        for (std::size_t slot = 1; slot < slots; ++slot)
            expect(group[slot] == group[slot - 1] ||
                       (group[slot] == group[slot - 1] + 1 && (level == 0 || ends_at(level - 1, slot))),
                   "groups are ranges of slots, and of the groups inside");
    }
    expect(machine.groups.back().back() == 0, "the last level is one group");
    expect(outer == 0 || outer == machine.outer_count(), "matrix");
    machine.matrix = input.numbers<std::int64_t>(outer * outer);
    expect(sum(machine.distances) + sum(machine.matrix) < largest_sum, "distances");
    return machine;
}

Routes read_routes(Input& input, const Machine& machine, std::uint64_t links, std::uint64_t level,
                   std::uint64_t entries) {
    Routes routes;
    if (links == 0)
        return routes;
    expect(level < machine.groups.size(), "the level of the links");
    routes.level = level;
    routes.groups = machine.groups[level].back() + std::size_t{1};
    routes.costs = input.numbers<std::int64_t>(links);
    routes.starts = input.numbers<std::uint64_t>(routes.groups * routes.groups + 1);
    routes.links = input.numbers<std::uint32_t>(entries);
    expect(routes.starts.front() == 0 && routes.starts.back() == entries, "routes");
    for (std::size_t i = 1; i < routes.starts.size(); ++i)
        expect(routes.starts[i - 1] <= routes.starts[i], "routes in order");
    for (const std::uint32_t link : routes.links)
        expect(link < links, "links of routes");
    expect(sum(routes.costs) < largest_sum, "costs of links");
    return routes;
}

Resource read_resource(Input& input, const Problem& problem, std::uint64_t level) {
    expect(level < problem.machine.groups.size() && problem.capacity == 0, "the resource");
    Resource resource{level, input.numbers<std::int64_t>(problem.graph.size())};
    expect(sum(resource.use_of) < largest_sum / 2, "use of the resource");
    return resource;
}

// Checks that sums of weights times distances fit, including the costs of the links of a message.
void expect_sums_that_fit(const Problem& problem) {
    double weight = 0;
    for (const Arc& arc : problem.graph.arcs)
        weight += static_cast<double>(arc.weight);
    const Weight cost = std::max({farthest(problem.machine.distances), farthest(problem.machine.matrix),
                                  farthest(problem.routes.costs), Routes::own_link});
    expect(weight * static_cast<double>(cost) < largest_sum, "weights times distances");
}

// Checks that each slot has at most one vertex, also in the initial order.
void expect_one_a_slot(const Problem& problem) {
    expect(problem.graph.size() == problem.machine.slots, "one vertex a slot");
    std::vector<char> is_taken(problem.machine.slots, 0);
    for (Vertex v = 0; v < problem.graph.size(); ++v) {
        char& is_taken_by_other = is_taken[problem.given[v]];
        expect(problem.graph.vertex_weights[v] == 1 && is_taken_by_other == 0, "one vertex a slot");
        is_taken_by_other = 1;
    }
}

Grid read_grid(Input& input, std::uint64_t dimensions, std::uint64_t vertices) {
    const auto extents = input.numbers<std::uint64_t>(dimensions);
    double volume = 1;
    for (const std::uint64_t extent : extents)
        volume *= static_cast<double>(extent);
    expect(extents.empty() || volume == static_cast<double>(vertices), "the extents of the grid");
    return {{extents.begin(), extents.end()}};
}

}  // namespace

Problem read_problem(const std::string& path) {
    Input input{path};
    const auto magic = input.numbers<char>(8);
    expect(std::memcmp(magic.data(), "MPIRMAP2", 8) == 0, "it begins differently");
    const auto head = input.numbers<std::uint64_t>(12);
    for (const std::uint64_t number : head)
        expect(number < largest_count * 1024, "a number is too large");
    expect(head[0] > 0 && head[0] < largest_count && head[2] > 0 && head[2] < largest_count && head[3] > 0 &&
               head[3] < 32,
           "sizes");
    Problem problem;
    problem.graph = read_graph(input, head[0], head[1]);
    problem.machine = read_machine(input, head[2], head[3], head[4]);
    problem.grid = read_grid(input, head[5], head[0]);
    problem.capacity = static_cast<Weight>(head[6]);
    problem.given = input.numbers<std::uint32_t>(head[0]);
    for (const std::uint32_t slot : problem.given)
        expect(slot < head[2], "the order given");
    expect(static_cast<double>(head[6]) * static_cast<double>(head[2]) < largest_sum, "room in the slots");
    if (problem.capacity == 0)
        expect_one_a_slot(problem);
    problem.routes = read_routes(input, problem.machine, head[7], head[8], head[9]);
    if (head[10] != 0)
        problem.resource = read_resource(input, problem, head[11]);
    expect_sums_that_fit(problem);
    return problem;
}

void write_order(const std::string& path, const Slots& slot_of) {
    std::string text;
    text.reserve(slot_of.size() * 8);
    std::array<char, 16> digits{};
    for (const std::uint32_t slot : slot_of) {
        const auto end = std::to_chars(digits.begin(), digits.end(), slot).ptr;
        text.append(digits.begin(), end);
        text += '\n';
    }
    std::ofstream stream{path, std::ios::binary};
    stream << text << std::flush;
    if (!stream)
        throw ProblemError("cannot write " + path);
}

}  // namespace mpiric::mapper
