// The runtime's options as spec/options.toml declares them, read once from the environment.
#pragma once

#include <cstdint>

namespace mpiric {

/// Who puts the ranks' records together.
enum class Merge : uint8_t { never, tree };

/// How MPI_Pcontrol bounds a region.
enum class Regions : uint8_t { levels, names };

struct Options {
    const char* record_dir = "";  ///< empty: nothing is recorded
    Merge merge = Merge::never;
    Regions regions = Regions::levels;
    uint32_t unexpected = 64;  ///< one receive in so many is looked at before it is posted; 0: none
    bool imbalance = false;
    bool posix_io = true;
    bool call_sites = false;
    bool counters = true;
};

/// Options of this process. What cannot be understood keeps its default.
Options read_options() noexcept;

}  // namespace mpiric
