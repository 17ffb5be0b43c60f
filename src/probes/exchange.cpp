#include "exchange.hpp"
#include "preemption.hpp"

#include <algorithm>
#include <array>
#include <mpi.h>

namespace mpiric::probes {
namespace {

using Message = std::vector<unsigned char>;

void round_trip(const Pair& pair, Message& message) {
    const int count = static_cast<int>(message.size());
    if (pair.first) {
        MPI_Send(message.data(), count, MPI_BYTE, pair.other, message_tag, MPI_COMM_WORLD);
    }
    MPI_Recv(message.data(), count, MPI_BYTE, pair.other, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!pair.first) {
        MPI_Send(message.data(), count, MPI_BYTE, pair.other, message_tag, MPI_COMM_WORLD);
    }
}

// Two messages to oneself, so that half of the time is one way here, too.
void round_trip_alone(int rank, Message& message, Message& copy) {
    const int count = static_cast<int>(message.size());
    Message* source = &message;
    Message* target = &copy;
    for (int way = 0; way < 2; ++way) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(target->data(), count, MPI_BYTE, rank, message_tag, MPI_COMM_WORLD, &request);
        MPI_Send(source->data(), count, MPI_BYTE, rank, message_tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        std::swap(source, target);
    }
}

// Seconds of one way, averaged over a number of round trips.
double one_way_s(const Pair& pair, Message& message, Message& copy, int round_trips) {
    const double start = MPI_Wtime();
    for (int i = 0; i < round_trips; ++i) {
        if (pair.alone) {
            round_trip_alone(pair.other, message, copy);
        } else {
            round_trip(pair, message);
        }
    }
    return (MPI_Wtime() - start) / (2.0 * round_trips);
}

struct Plan {
    int batches;
    int round_trips;
};

// Number of round trips per batch that hides the resolution of clock and scheduler; the first rank decides.
Plan plan_for(const Pair& pair, const Effort& effort, double seconds) {
    const double trip_s = 2 * std::max(seconds, 1e-9);
    const int trips = std::clamp(static_cast<int>(effort.batch_s / trip_s), 1, 100000);
    const double affordable = std::min(effort.budget_s / (trip_s * trips), 1e6);
    std::array<int, 2> words{std::clamp(static_cast<int>(affordable), 3, effort.most_batches), trips};
    if (!pair.alone && pair.first) {
        MPI_Send(words.data(), 2, MPI_INT, pair.other, plan_tag, MPI_COMM_WORLD);
    } else if (!pair.alone) {
        MPI_Recv(words.data(), 2, MPI_INT, pair.other, plan_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return {.batches = words[0], .round_trips = words[1]};
}

}  // namespace

Timing exchange(const Pair& pair, std::size_t size_bytes, const Effort& effort) {
    Message message(size_bytes);
    if (pair.first) {
        for (std::size_t i = 0; i < size_bytes; ++i) {
            message[i] = static_cast<unsigned char>(i * 31 + 7);
        }
    }
    const Message sent = message;
    Message copy(pair.alone ? size_bytes : 0);
    const Plan plan = plan_for(pair, effort, one_way_s(pair, message, copy, effort.warm_up));
    std::vector<double> times(static_cast<std::size_t>(plan.batches));
    Preemption preemption;
    int preempted = 0;
    for (double& time : times) {
        time = one_way_s(pair, message, copy, plan.round_trips);
        preempted += preemption.seen() ? 1 : 0;
    }
    if (!pair.first) {
        MPI_Send(&preempted, 1, MPI_INT, pair.other, plan_tag, MPI_COMM_WORLD);
        return {.median_s = 0.0, .least_s = 0.0, .messages = 0, .preempted = 0.0, .intact = true};
    }
    int there = 0;
    if (!pair.alone) {
        MPI_Recv(&there, 1, MPI_INT, pair.other, plan_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    std::sort(times.begin(), times.end());
    return {.median_s = times[times.size() / 2],
            .least_s = times.front(),
            .messages = 2 * plan.round_trips * plan.batches,
            .preempted = static_cast<double>(std::max(preempted, there)) / plan.batches,
            .intact = message == sent};
}

}  // namespace mpiric::probes
