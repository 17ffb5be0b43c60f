// The world in the order that MPIRIC_RANK_ORDER names.
#pragma once

#include "symbols/layer.hpp"

namespace mpiric::order {

/// MPI has been initialised: makes the world in another order, from here on the program's MPI_COMM_WORLD.
/// Collective over the world; rank 0 reads the order. An invalid order changes nothing and is reported once.
/// Ranks that were spawned keep their order: the file is for their parents.
void reorder_world(ProgramWorld& world) noexcept;

/// Replaces the group of `mpi://WORLD` by the same processes in the order; each process reads it.
void reorder_group(MPI_Group& group) noexcept;

}  // namespace mpiric::order
