#include "probe_mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>

namespace mpiric::probes {
namespace {

constexpr int batches = 21;
constexpr double batch_s = 2e-3;
constexpr int warm_up = 10;

struct Pair {
    bool first;
    int other;
};

// Time of one way, in seconds: half of a round trip, averaged over the round trips of one batch.
double one_way_s(const Pair& pair, std::vector<unsigned char>& message, int round_trips) {
    const int count = static_cast<int>(message.size());
    const double start = MPI_Wtime();
    for (int i = 0; i < round_trips; ++i) {
        if (pair.first) {
            MPI_Send(message.data(), count, MPI_BYTE, pair.other, 1, MPI_COMM_WORLD);
        }
        MPI_Recv(message.data(), count, MPI_BYTE, pair.other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!pair.first) {
            MPI_Send(message.data(), count, MPI_BYTE, pair.other, 1, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) / (2.0 * round_trips);
}

// So many that clock and scheduler ticks vanish in a batch; decided by the first rank for both.
int round_trips_for(const Pair& pair, std::vector<unsigned char>& message) {
    const double seconds = one_way_s(pair, message, warm_up);
    int count = std::clamp(static_cast<int>(batch_s / (2 * std::max(seconds, 1e-9))), 1, 100000);
    if (pair.first) {
        MPI_Send(&count, 1, MPI_INT, pair.other, 2, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&count, 1, MPI_INT, pair.other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

// The bytes of the first rank travel back and forth, and have to come back as they left.
bool measure(const Pair& pair, std::size_t size_bytes) {
    std::vector<unsigned char> message(size_bytes);
    if (pair.first) {
        for (std::size_t i = 0; i < size_bytes; ++i) {
            message[i] = static_cast<unsigned char>(i * 31 + 7);
        }
    }
    const std::vector<unsigned char> sent = message;
    const int round_trips = round_trips_for(pair, message);
    std::array<double, batches> times{};
    for (double& time : times) {
        time = one_way_s(pair, message, round_trips);
    }
    std::sort(times.begin(), times.end());
    const double median = times[batches / 2];
    if (pair.first) {
        std::printf("{\"bytes\":%zu,\"latency_us\":%.4f,\"latency_us_min\":%.4f,\"bandwidth_mb_s\":%.3f,"
                    "\"messages\":%d,\"intact\":%s}\n",
                    size_bytes, median * 1e6, times.front() * 1e6,
                    static_cast<double>(size_bytes) / median * 1e-6, 2 * round_trips * batches,
                    message == sent ? "true" : "false");
        std::fflush(stdout);
    }
    return !pair.first || message == sent;
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
        const Pair pair{.first = rank == 0, .other = rank == 0 ? size - 1 : 0};
        for (const std::size_t bytes : sizes_bytes) {
            intact = measure(pair, bytes) && intact != 0 ? 1 : 0;
        }
    }
    MPI_Bcast(&intact, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return intact != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace mpiric::probes
