// The beginning and the end of a record.
#pragma once

#include "profile/context.hpp"
#include "world/library.hpp"

namespace mpiric::wrap {

/// MPI has been initialised by the program: record from here, if a record is wanted.
void begin(MPI_Group world, int thread_level, bool of_sessions) noexcept;

/// Whether the parent is another MPI job: what we write is apart from its.
bool was_spawned() noexcept;

/// The program is about to leave MPI: close the record, and merge it with the others' when that was asked
/// for.
void end() noexcept;

/// Something of our own went wrong, or we are a forked child: never again in this process.
void stop() noexcept;

}  // namespace mpiric::wrap
