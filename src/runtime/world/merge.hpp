// One file from all ranks, over MPI: messages go up a binomial tree, so each rank sends one image and the
// deepest path is log2 of the ranks. Nobody reads a file.
#pragma once

#include <string_view>

namespace mpiric::profile {
class Recorder;
}

namespace mpiric::world {

struct Merging {
    const char* directory;
    const profile::Recorder* recorder;  ///< null: this rank recorded nothing, and still takes part
    int world_rank, world_size;
    std::string_view names;
};

/// To be called by every rank when MPI begins, if there will be a merge.
void prepare_merge() noexcept;

/// Collective over the world. True when this rank's image is in a complete merged file; otherwise the rank's
/// own file stays.
bool merge(const Merging& merging) noexcept;

}  // namespace mpiric::world
