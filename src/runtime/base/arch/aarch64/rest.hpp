// A short rest of this processor in a loop that waits for another one.
#pragma once

namespace mpiric {

inline void rest() noexcept { asm volatile("isb" ::: "memory"); }

}  // namespace mpiric
