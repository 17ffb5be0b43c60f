// One file from all ranks, over MPI: messages go up a binomial tree, so each rank sends one image and the
// deepest path is log2 of the ranks. Nobody reads a file.
#pragma once

#include <cstdint>
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
    int first_number;  ///< 1: it may be the record, 2: one beside it
};

/// When a communicator for the merge is made: when the program begins, where it waits for nobody and there
/// are no attributes yet whose callbacks a duplicate would call; or, in spawned ranks, at the end: MPICH 5.0
/// loses messages of the parents when their children talk among themselves first.
enum class Prepared : uint8_t { at_beginning, at_end };

/// To be called by every rank, if there will be a merge.
void prepare_merge(Prepared when) noexcept;

/// Collective over the world. True when this rank's image is in a complete merged file; otherwise the rank's
/// own file stays.
bool merge(const Merging& merging) noexcept;

}  // namespace mpiric::world
