// Values at the start, which the facts of a process are compared with.
#pragma once

#include <cstdint>

namespace mpiric::system {

/// The kernel's totals at one moment; facts are differences.
struct Totals {
    uint64_t read_calls, write_calls, read_bytes, written_bytes, disk_read_bytes, disk_written_bytes;
};

/// Resources used before the first call of MPI: by reading input, loading libraries, or an interpreter.
struct UsedBefore {
    uint64_t user_us, system_us, minor_faults;
};

struct State {
    Totals at_begin{};
    UsedBefore before_mpi{};
    int counter_files[4] = {-1, -1, -1, -1};  ///< files of perf_event, indexed as the table in counters.cpp
};
inline constinit State state;

}  // namespace mpiric::system
