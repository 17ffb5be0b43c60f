// Speed of arithmetic of several hardware threads at once. Does not use MPI.
#pragma once

#include <vector>

namespace mpiric::probes {

struct CoreSpeed {
    double gflop_s;  // over the whole time, so that pauses by a quota or another process count; 0 if unusable
    long khz;        // clock frequency at the end of the loop as the kernel reports it, 0 if unknown
};

// Each thread is bound to its PU and multiplies and adds in registers for a time. One entry per PU.
std::vector<CoreSpeed> core_speeds(const std::vector<int>& pus, double seconds);

}  // namespace mpiric::probes
