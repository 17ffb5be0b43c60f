// Signals that end the process: held output of files is written first.
#pragma once

namespace mpiric::deferred {

/// Has `write_out` called before a signal ends the process, in its handler.
void at_deadly_signals(void (*write_out)()) noexcept;

}  // namespace mpiric::deferred
