// Output that a program has written and still holds in its buffers.
#pragma once

namespace mpiric::system {

/// Hands the kernel what stdio and the units of gfortran hold; false when not all of it could be written. A
/// full disk or a reader that is gone costs the program no signal that it would not have met by itself.
bool flush_output() noexcept;

/// Waits, for a twentieth of a second at most, until who reads standard output and standard error has read
/// all that was written there: launchers drop what they have not read of a run that is aborted.
void wait_for_readers() noexcept;

/// Flushes at a moment of the wall clock, in a thread that sleeps until then and takes none of the program's
/// signals.
void flush_output_at(double unix_s) noexcept;

}  // namespace mpiric::system
