// The names this library exports, as the program may ask for them.
#pragma once

namespace mpiric::symbols {

/// Leaves visible to later look-ups those MPI names that the loaded library has, and no other: a program that
/// looks for a function must find what it would find without us. While no MPI library is loaded, it finds
/// none.
void show_what_the_library_has() noexcept;

}  // namespace mpiric::symbols
