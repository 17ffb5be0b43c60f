// Speed of every node, for the comparison of nodes: one rank per node, all nodes at the same time.
//
// Arithmetic, memory and messages are measured one after the other, each in several passes, so that a short
// disturbance spoils one pass only. The pairs of the messages follow a round-robin tournament by the circle
// method: the last rank stays, the others rotate, and after size - 1 rounds each rank has met every other
// rank once.
#include "arithmetic.hpp"
#include "exchange.hpp"
#include "probe_mpi.hpp"
#include "process.hpp"
#include "stream.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mpi.h>
#include <set>
#include <sys/statvfs.h>
#include <thread>

namespace mpiric::probes {
namespace {

constexpr double arithmetic_s = 1.0;  // time of a pass: ten periods of the kernel's CPU quota (100 ms)
constexpr double memory_s = 0.3;
constexpr int most_rounds = 8;
constexpr std::array<std::size_t, 2> sizes_bytes{8, 1 << 20};
constexpr Effort effort{.warm_up = 2, .most_batches = 25, .batch_s = 1e-3, .budget_s = 0.1};
constexpr std::size_t most_characters = 1500;

struct Cores {
    std::vector<int> pus;                  // first usable hardware thread of each core
    std::map<int, std::vector<int>> numa;  // NUMA node → these hardware threads
};

struct Link {
    int other;
    double latency_us;
    double bandwidth_mb_s;
};

std::string first_characters(const std::string& path) {
    std::ifstream file{path};
    std::string text(most_characters, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

// Number N of the entry "nodeN" in the directory of a hardware thread, 0 without one.
int numa_node_of(const std::string& directory) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator{directory, ignored}) {
        const std::string name = entry.path().filename().string();
        const char* const end = name.data() + name.size();
        int node = 0;
        if (name.starts_with("node") && std::from_chars(name.data() + 4, end, node).ptr == end) {
            return node;
        }
    }
    return 0;
}

Cores usable_cores() {
    Cores cores;
    std::set<std::string> seen;
    for (const int pu : allowed_pus()) {
        const std::string directory = "/sys/devices/system/cpu/cpu" + std::to_string(pu);
        const std::string siblings = first_characters(directory + "/topology/thread_siblings_list");
        if (siblings.empty() || seen.insert(siblings).second) {
            cores.pus.push_back(pu);
            cores.numa[numa_node_of(directory)].push_back(pu);
        }
    }
    return cores;
}

// MB/s of each pass: the repeats of a triad in groups of equal time.
std::vector<double> memory_passes(const TriadRequest& request, int passes) {
    const auto times_s = triad_seconds(request);
    double all_s = 0.0;
    for (const double time_s : times_s) {
        all_s += time_s;
    }
    std::vector<double> speeds;
    double elapsed_s = 0.0;
    double pass_s = 0.0;
    double moved = 0.0;
    for (const double time_s : times_s) {
        elapsed_s += time_s;
        pass_s += time_s;
        moved += triad_bytes(request);
        if (elapsed_s >= all_s * static_cast<double>(speeds.size() + 1) / passes * (1 - 1e-9)) {
            speeds.push_back(moved / pass_s * 1e-6);
            pass_s = moved = 0.0;
        }
    }
    return speeds;
}

// MB/s of each NUMA node in each pass, all NUMA nodes at once; empty where a hardware thread is unusable.
std::vector<std::vector<double>> memory_speeds(const Cores& cores, int passes) {
    std::vector<std::vector<double>> speeds(cores.numa.size());
    std::vector<std::jthread> threads;
    std::size_t number = 0;
    for (const auto& [node, pus] : cores.numa) {
        const long array_bytes = default_array_bytes() / static_cast<long>(cores.numa.size());
        const int limit_ms = static_cast<int>(memory_s * 1e3 * passes);
        threads.emplace_back([=, pus = pus, &mine = speeds[number++]] {
            mine = memory_passes(
                {.pus = pus, .array_bytes = array_bytes, .repeats = 1'000'000, .limit_ms = limit_ms}, passes);
        });
    }
    threads.clear();  // joins
    return speeds;
}

// Partner of a rank in a round of the tournament, or the rank itself if it has none.
int partner_in(int round, int rank, int size) {
    const int seats = size + size % 2;  // the last seat is empty if the number of ranks is odd
    const int moving = seats - 1;
    int other = ((2 * round - rank) % moving + moving) % moving;
    if (rank == moving) {
        other = round % moving;
    } else if (other == rank) {
        other = moving;
    }
    return other < size ? other : rank;
}

Link exchange_with(int rank, int other) {
    const Pair pair{.first = rank < other, .other = other, .alone = false};
    std::array<double, 2> times_s{};
    for (std::size_t i = 0; i < times_s.size(); ++i) {
        times_s[i] = exchange(pair, sizes_bytes[i], effort).median_s;
    }
    if (pair.first) {  // only the first rank knows the times
        MPI_Send(times_s.data(), 2, MPI_DOUBLE, other, result_tag, MPI_COMM_WORLD);
    } else {
        MPI_Recv(times_s.data(), 2, MPI_DOUBLE, other, result_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const double bandwidth_mb_s = static_cast<double>(sizes_bytes[1]) / times_s[1] * 1e-6;
    return {.other = other, .latency_us = times_s[0] * 1e6, .bandwidth_mb_s = bandwidth_mb_s};
}

std::string list_of(const std::vector<double>& values) {
    std::string text = "[";
    for (const double value : values) {
        std::array<char, 32> number{};
        std::snprintf(number.data(), number.size(), "%.6g", value);
        text += (text.size() > 1 ? "," : "") + std::string{number.data()};
    }
    return text + ']';
}

std::string list_of(const std::vector<std::string>& values) {
    std::string text = "[";
    for (const auto& value : values) {
        text += (text.size() > 1 ? "," : "") + value;
    }
    return text + ']';
}

std::string files_text(const std::vector<std::string>& paths) {
    std::string text = "{";
    for (const auto& path : paths) {
        if (const std::string content = first_characters(path); !content.empty()) {
            text += (text.size() > 1 ? "," : "") + json_text(path) + ':' + json_text(content);
        }
    }
    return text + '}';
}

long shared_memory_bytes() {
    struct statvfs system{};
    return statvfs("/dev/shm", &system) == 0
               ? static_cast<long>(system.f_blocks) * static_cast<long>(system.f_frsize)
               : 0;
}

}  // namespace

int print_nodes(int passes, const std::vector<std::string>& paths) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const Cores cores = usable_cores();
    const std::string files = files_text(paths);  // before the load
    std::vector<std::string> arithmetic;
    std::vector<double> clocks_mhz;
    for (int pass = 0; pass < passes; ++pass) {
        MPI_Barrier(MPI_COMM_WORLD);
        std::vector<double> speeds;
        double clock_khz = 0.0;
        for (const CoreSpeed& core : core_speeds(cores.pus, arithmetic_s)) {
            speeds.push_back(core.gflop_s);
            clock_khz += static_cast<double>(core.khz) / static_cast<double>(cores.pus.size());
        }
        arithmetic.push_back(list_of(speeds));
        clocks_mhz.push_back(clock_khz * 1e-3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<std::string> memory;
    for (const auto& speeds : memory_speeds(cores, passes)) {
        memory.push_back(list_of(speeds));
    }
    std::vector<std::string> links;
    const int all_rounds = std::max(size - 1 + size % 2, 1);
    const int rounds = size > 1 ? std::max(passes, std::min(all_rounds, most_rounds)) : 0;
    for (int round = 0; round < rounds; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        const int step = rounds >= all_rounds ? round % all_rounds : round * all_rounds / rounds;
        const int other = partner_in(step, rank, size);
        if (other != rank) {
            const Link link = exchange_with(rank, other);
            links.push_back(list_of({static_cast<double>(other), link.latency_us, link.bandwidth_mb_s}));
        }
    }
    std::vector<std::string> numa;
    numa.reserve(cores.numa.size());
    for (const auto& [node, pus] : cores.numa) {
        numa.push_back(std::to_string(node));
    }
    return print_in_order(R"({"kind":"node","rank":)" + std::to_string(rank) +
                          ",\"host\":" + json_text(host_name()) + ",\"pus\":" + json_numbers(cores.pus) +
                          ",\"numa\":" + list_of(numa) + ",\"gflop_s\":" + list_of(arithmetic) +
                          ",\"mhz\":" + list_of(clocks_mhz) + ",\"memory_mb_s\":" + list_of(memory) +
                          ",\"links\":" + list_of(links) +
                          ",\"shm_bytes\":" + std::to_string(shared_memory_bytes()) +
                          ",\"library\":" + json_text(library_version()) + ",\"files\":" + files + '}');
}

}  // namespace mpiric::probes
