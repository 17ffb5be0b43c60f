#include "exchange.hpp"
#include "probe_mpi.hpp"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mpi.h>

namespace mpiric::probes {
namespace {

constexpr Effort thorough{
    .warm_up = 10, .most_batches = 21, .batch_s = 2e-3, .budget_s = std::numeric_limits<double>::max()};

bool measure(const Pair& pair, std::size_t size_bytes) {
    const Timing timing = exchange(pair, size_bytes, thorough);
    if (pair.first) {
        std::printf("{\"bytes\":%zu,\"latency_us\":%.4f,\"latency_us_min\":%.4f,\"bandwidth_mb_s\":%.3f,"
                    "\"messages\":%d,\"intact\":%s}\n",
                    size_bytes, timing.median_s * 1e6, timing.least_s * 1e6,
                    static_cast<double>(size_bytes) / timing.median_s * 1e-6, timing.messages,
                    timing.intact ? "true" : "false");
        std::fflush(stdout);
    }
    return timing.intact;
}

}  // namespace

int print_pingpong(const std::vector<std::size_t>& sizes_bytes) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        std::fputs("probe-mpi: pingpong needs 2 ranks, and this is a world of 1\n", stderr);
        return EXIT_FAILURE;
    }
    int intact = 1;
    if (rank == 0 || rank == size - 1) {
        const Pair pair{.first = rank == 0, .other = rank == 0 ? size - 1 : 0, .alone = false};
        for (const std::size_t bytes : sizes_bytes) {
            intact = measure(pair, bytes) && intact != 0 ? 1 : 0;
        }
    }
    MPI_Bcast(&intact, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return intact != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace mpiric::probes
