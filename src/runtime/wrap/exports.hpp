// The names this library exports, as the program may ask for them.
#pragma once

namespace mpiric::wrap {

/// Hides from later look-ups the MPI names that the loaded library lacks: a program that asks whether a
/// function is there must get the answer it would get without us. Does nothing while no MPI library is
/// loaded.
void hide_missing() noexcept;

}  // namespace mpiric::wrap
