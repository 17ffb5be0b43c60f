// Choices of the library itself.
#pragma once

#include "system/process.hpp"

namespace mpiric::record {

/// Records the facts `library.transport` and `library.<collective>`. A library does not report what it
/// decides call by call: only algorithms that settings name are seen. MPICH does not report its network
/// modules, and Intel MPI reports nothing at all.
void report_library_choice(system::AddFact add_fact) noexcept;

}  // namespace mpiric::record
