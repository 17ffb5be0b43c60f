// Triad of STREAM (McCalpin): memory bandwidth of selected hardware threads. Does not use MPI.
//
// a[i] = b[i] + s * c[i], one thread per PU, bound before it touches its share of the arrays, so that the
// memory is on its own node.
#pragma once

#include <vector>

namespace mpiric::probes {

struct TriadRequest {
    std::vector<int> pus;
    long array_bytes = 0;  // size of one array, all threads together
    int repeats = 12;
    int limit_ms = 60'000;
};

// Four times the last-level cache, as STREAM requires, at least 128 MiB and at most 1/16 of the memory.
long default_array_bytes();

// Seconds of each repeat; empty if a PU cannot be used or a result is wrong.
std::vector<double> triad_seconds(const TriadRequest& request);

// Bytes that a repeat moves: 24 per element, as STREAM counts (no write-allocate).
inline double triad_bytes(const TriadRequest& request) {
    return 3.0 * static_cast<double>(request.array_bytes);
}

}  // namespace mpiric::probes
