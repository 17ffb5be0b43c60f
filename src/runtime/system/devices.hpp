// Accelerators whose memory a program may give to MPI.
#pragma once

namespace mpiric::system {

/// Whether the driver of an accelerator is loaded: a pointer may then lead to memory that the processor
/// cannot access.
bool device_driver_loaded() noexcept;

}  // namespace mpiric::system
