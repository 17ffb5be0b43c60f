// Where a process sits inside its node.
#pragma once

namespace mpiric {

/// Numbers are the kernel's; negative: not known, or its CPUs lie in several.
struct Seat {
    int domain = -1;   ///< NUMA domain
    int package = -1;  ///< socket
};

}  // namespace mpiric
