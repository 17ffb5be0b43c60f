// The thread that brings files home.
#pragma once

#include <cstdint>

namespace mpiric::files::node_local {

/// Starts it; false where there can be none.
bool begin_draining() noexcept;

/// A file is queued, or open: there is something to do.
void wake_drain() noexcept;

/// Which files: those that are closed, those that the program has open too, or, at its end, also those that
/// are mapped into memory.
enum class Reach : uint8_t { closed, open, all };

/// Brings them home, and waits for it. What stays on the node's disk is named on stderr.
void drain(Reach reach) noexcept;

/// The same in a signal handler: the thread does it.
void drain_before_death() noexcept;

}  // namespace mpiric::files::node_local
