// Signals that end the process: what is held goes out first.
#pragma once

namespace mpiric::files::deferred {

/// Has `write_out` called before a signal ends the process, in its handler.
void write_out_at_signals(void (*write_out)()) noexcept;

}  // namespace mpiric::files::deferred
