#include "problem_file.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>

namespace mpiric::mapper {
namespace {

constexpr std::uint64_t largest_count = 1ULL << 32U;

class Input {
  public:
    explicit Input(const std::string& path) : stream_{path, std::ios::binary} {
        if (!stream_)
            throw ProblemError("cannot read " + path);
    }

    template <class T> std::vector<T> numbers(std::uint64_t count) {
        std::vector<T> found(count);
        const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
        stream_.read(reinterpret_cast<char*>(found.data()), bytes);
        stream_.ignore((8 - bytes % 8) % 8);
        if (!stream_ || stream_.gcount() != (8 - bytes % 8) % 8)
            throw ProblemError("the problem ends early");
        return found;
    }

  private:
    std::ifstream stream_;
};

void expect(bool is_right, const char* what) {
    if (!is_right)
        throw ProblemError(std::string{"not a problem of this engine: "} + what);
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
        expect(offsets[v] <= offsets[v + 1] && graph.vertex_weights[v] >= 0, "rows");
    return graph;
}

Machine read_machine(Input& input, std::uint64_t slots, std::uint64_t levels, std::uint64_t outer) {
    Machine machine;
    machine.slots = slots;
    machine.distances = input.numbers<std::int64_t>(levels);
    for (std::uint64_t level = 0; level < levels; ++level) {
        machine.groups.push_back(input.numbers<std::uint32_t>(slots));
        const auto& group = machine.groups.back();
        expect(group.front() == 0, "groups");
        for (std::size_t slot = 1; slot < slots; ++slot)
            expect(group[slot] == group[slot - 1] || group[slot] == group[slot - 1] + 1,
                   "groups are ranges of slots");
    }
    expect(machine.groups.back().back() == 0, "the last level is one group");
    machine.matrix = input.numbers<std::int64_t>(outer * outer);
    expect(outer == 0 || outer == machine.outer_count(), "matrix");
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
    for (const Weight cost : routes.costs)
        expect(cost >= 0, "costs of links");
    return routes;
}

Resource read_resource(Input& input, const Problem& problem, std::uint64_t level) {
    expect(level < problem.machine.groups.size() && problem.capacity == 0, "the resource");
    Resource resource{level, input.numbers<std::int64_t>(problem.graph.size())};
    for (const Weight use : resource.use_of)
        expect(use >= 0, "use of the resource");
    return resource;
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
    const auto extents = input.numbers<std::uint64_t>(head[5]);
    problem.grid.extents.assign(extents.begin(), extents.end());
    problem.capacity = static_cast<Weight>(head[6]);
    problem.given = input.numbers<std::uint32_t>(head[0]);
    for (const std::uint32_t slot : problem.given)
        expect(slot < head[2], "the order given");
    expect(problem.capacity > 0 || head[0] == head[2], "one vertex a slot");
    problem.routes = read_routes(input, problem.machine, head[7], head[8], head[9]);
    if (head[10] != 0)
        problem.resource = read_resource(input, problem, head[11]);
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
