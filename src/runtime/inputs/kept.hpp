// The copies that this rank has open, each under a descriptor of ours.
#pragma once

#include <sys/stat.h>

namespace mpiric::inputs {

/// A file as it was when it was broadcast, and its copy.
struct Kept {
    const char* name = nullptr;  ///< of the path behind its last slash
    int copy = -1;
    struct stat facts{};
};

inline constexpr int most_inputs = 16;

/// Enters one; false where there is no room.
bool keep(const Kept& kept) noexcept;

}  // namespace mpiric::inputs
