// Words to the user: one line on stderr, once in the life of a process.
#pragma once

namespace mpiric {

/// Writes `mpiric: <what>` and, when given, `: <detail>`; the first call speaks, later ones are silent. Does
/// not allocate.
void say_once(const char* what, const char* detail = nullptr) noexcept;

}  // namespace mpiric
