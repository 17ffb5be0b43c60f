// probe-mpi: reports identity of a running MPI library, placement of its ranks, and speed of messages.
//
//   mpiexec -n 2 probe-mpi                     library and placement of each rank
//   mpiexec -n 2 probe-mpi affinity            CPUs on which each rank may run
//   mpiexec -n 2 probe-mpi pingpong [BYTES…]   latency and bandwidth between rank 0 and the last rank
//   mpiexec -n 4 probe-mpi fabric [BYTES…]     route and speed of messages for each class of rank pairs
//   mpiexec -ppn 1 probe-mpi nodes PASSES [FILE…]   speed of each node, and the beginning of these files
#include "probe_mpi.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <optional>
#include <string_view>

namespace {

using mpiric::probes::print_affinity;
using mpiric::probes::print_fabric;
using mpiric::probes::print_identity;
using mpiric::probes::print_nodes;
using mpiric::probes::print_pingpong;

enum Status { usage = 2 };

std::optional<std::vector<std::size_t>> sizes_of(int argc, char** argv) {
    std::vector<std::size_t> sizes;
    for (int i = 2; i < argc; ++i) {
        const char* const end = argv[i] + std::strlen(argv[i]);
        int size = 0;  // counts of MPI_Send are int
        if (const auto parsed = std::from_chars(argv[i], end, size);
            parsed.ec != std::errc{} || parsed.ptr != end || size < 1) {
            return std::nullopt;
        }
        sizes.push_back(static_cast<std::size_t>(size));
    }
    return sizes.empty() ? std::vector<std::size_t>{8, 1024, 65536, 1048576} : sizes;
}

int explain() {
    std::fputs("usage: probe-mpi [identity | affinity | pingpong [BYTES...] | fabric [BYTES...] | "
               "nodes PASSES [FILE...]]\n",
               stderr);
    return usage;
}

int answer(std::string_view question, int argc, char** argv, int thread_level) {
    if (question == "identity") {
        return print_identity(thread_level);
    }
    if (question == "affinity") {
        return print_affinity();
    }
    if (question == "nodes") {
        int passes = 0;
        if (argc > 2) {
            std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), passes);
        }
        return passes > 0 ? print_nodes(passes, {argv + 3, argv + argc}) : explain();
    }
    const auto sizes = sizes_of(argc, argv);
    if (!sizes) {
        return explain();
    }
    return question == "fabric" ? print_fabric(*sizes) : print_pingpong(*sizes);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view question = argc > 1 ? argv[1] : "identity";
    constexpr std::array<std::string_view, 5> questions{"identity", "affinity", "pingpong", "fabric",
                                                        "nodes"};
    if (std::find(questions.begin(), questions.end(), question) == questions.end()) {
        return explain();
    }
    // The highest level is only requested if it is the answer, because it slows down messages.
    const int with_threads = question == "nodes" ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
    const int wanted = question == "identity" ? MPI_THREAD_MULTIPLE : with_threads;
    int thread_level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, wanted, &thread_level);
    const int status = answer(question, argc, argv, thread_level);
    MPI_Finalize();
    return status;
}
