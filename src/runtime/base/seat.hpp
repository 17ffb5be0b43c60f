// Where a process sits inside its node.
#pragma once

namespace mpiric {

/// Numbers are the kernel's; negative: unknown, or the process may run on CPUs of several.
struct Seat {
    int domain = -1;   ///< NUMA domain
    int package = -1;  ///< socket
};

}  // namespace mpiric
