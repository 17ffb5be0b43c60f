// Accelerators whose memory a program may give to MPI.
#pragma once

namespace mpiric::system {

/// Whether the driver of one is loaded: what a pointer leads to may then be out of the processor's reach.
bool device_driver_loaded() noexcept;

}  // namespace mpiric::system
