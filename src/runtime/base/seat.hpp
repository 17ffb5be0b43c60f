// Where a process sits inside its node.
#pragma once

namespace mpiric {

/// As the kernel numbers them; negative: not known, or its CPUs lie in several.
struct Seat {
    int domain = -1;   ///< NUMA domain
    int package = -1;  ///< socket
};

}  // namespace mpiric
