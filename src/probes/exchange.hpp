// Messages between two ranks, timed. Both ranks of a pair make the same calls.
#pragma once

#include <cstddef>
#include <vector>

namespace mpiric::probes {

enum Tag { message_tag = 1, plan_tag, task_tag, result_tag, address_tag, turn_tag };

struct Pair {
    bool first;
    int other;
    bool alone;  // a rank with itself
};

struct Effort {
    int warm_up;  // round trips before anything is timed
    int most_batches;
    double batch_s;
    double budget_s;  // for all batches; at least three are made however slow they are
};

struct Timing {
    double median_s;  // of one way: half of a round trip
    double least_s;
    int messages;
    double preempted;  // share of the batches in which a rank lost its CPU
    bool intact;       // the bytes came back as they left
};

// The timing is the first rank's; the other one gets zeros. The message's bytes are overwritten.
Timing exchange(const Pair& pair, std::size_t size_bytes, const Effort& effort);

}  // namespace mpiric::probes
