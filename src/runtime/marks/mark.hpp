// The two calls that a run is measured between, as MPIRIC_MARK names them.
#pragma once

#include <cstdint>
#include <string_view>

namespace mpiric::marks {

/// Calls of one kind, and the numbers of two of them.
struct Mark {
    std::string_view function;
    std::string_view module;  ///< file without its directory; empty: called from anywhere
    uint64_t offset = 0;      ///< offset of the return address in the module
    uint32_t ranks = 0;       ///< size of the communicator; 0: any size
    uint32_t birth = 0;       ///< number of communicators of this size that this rank created before it
    uint64_t first = 0, last = 0;
};

/// The text that asks for times alone.
inline constexpr std::string_view only_times = "main";

/// Reads `FUNCTION@MODULE+0xOFFSET@RANKS.BIRTH:FIRST,LAST`, with `*` for any place or communicator; false
/// when the text is malformed. The parts of the mark are parts of the text.
bool read_mark(std::string_view text, Mark& mark) noexcept;

}  // namespace mpiric::marks
