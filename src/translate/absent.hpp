// Values for constants that a family does not have.
#pragma once

#include <climits>
#include <cstdint>

namespace mpiric::translate {

inline constexpr int absent = INT_MIN;         // an integer of the interface
inline constexpr int invalid = INT_MIN + 1;    // no family gives this a meaning: every library refuses it
inline constexpr int unwritten = INT_MIN + 2;  // field of a status that the library has not written
inline constexpr unsigned long long unwritten_bytes = (1ull << 62) + 1;  // likewise: no message is that long
inline constexpr std::uint32_t absent_handle = ~0u;

}  // namespace mpiric::translate
