// How a run ends at its last mark: every rank writes out what it holds, and when all have, rank 0 aborts.
#pragma once

#include "marks/marks.hpp"
#include "world/library.hpp"

namespace mpiric::steps {

/// This rank is past the last mark. Where the run ends there it writes out what is buffered, tells rank 0,
/// and has every function of MPI ask whether all ranks have told.
void pass_last_mark() noexcept;

/// Asks now and then whether rank 0 has passed the last mark; passes it then.
void follow_first_rank() noexcept;

/// Makes the communicator and requests that ending needs, collectively over the world; `counts`: this rank
/// counts the mark's calls. False when the communicator cannot be made.
bool prepare_ending(bool counts) noexcept;

/// Tells rank 0, at MPI_Finalize, that this rank will not come to the last mark any more, and completes what
/// is under way; collective if prepare_ending() was.
void finish_ending() noexcept;

/// Whether the driver of an accelerator is loaded, so that results may be in its memory.
bool results_may_be_elsewhere() noexcept;

}  // namespace mpiric::steps
