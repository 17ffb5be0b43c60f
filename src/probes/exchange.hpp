// Timed messages between two ranks. Both ranks of a pair make the same calls.
#pragma once

#include <cstddef>
#include <vector>

namespace mpiric::probes {

enum Tag { message_tag = 1, plan_tag, task_tag, result_tag, address_tag, turn_tag };

struct Pair {
    bool first;
    int other;
    bool alone;  // true for a rank that sends to itself
};

struct Effort {
    int warm_up;  // round trips before the first timed one
    int most_batches;
    double batch_s;
    double budget_s;  // time for all batches; at least three are made even if they take longer
};

struct Timing {
    double median_s;  // time of one way: half of a round trip
    double least_s;
    int messages;
    double preempted;  // share of the batches in which a rank lost its CPU
    bool intact;       // the bytes came back unchanged
};

// The first rank measures the time; the other one gets zeros. The bytes of the message are overwritten.
Timing exchange(const Pair& pair, std::size_t size_bytes, const Effort& effort);

}  // namespace mpiric::probes
