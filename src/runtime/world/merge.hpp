// One file from all ranks, over MPI: messages go up a binomial tree, so each rank sends one image and the
// deepest path is log2 of the ranks. Nobody reads a file.
#pragma once

#include "world/library.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mpiric::profile {
class Recorder;
}

namespace mpiric::world {

struct Merging {
    MPI_Comm comm;  ///< communicator of make_merge_comm(); merge() frees it
    const char* directory;
    const profile::Recorder* recorder;  ///< null: this rank recorded nothing, and still takes part
    int world_rank, world_size;
    std::string_view names;
    int first_number;  ///< 1: the file may be the record itself, 2: a further file next to it
};

/// When the communicator of the merge is made: when the program begins, where it waits for nobody and no
/// attributes exist whose callbacks a duplicate would call; or, in spawned ranks, at the end: MPICH 5.0 loses
/// messages of the parents when their children talk among themselves first.
enum class Made : uint8_t { at_beginning, at_end };

/// A communicator of our own over the world, on which errors come back to us instead of ending the program;
/// null when it cannot be made. Collective. The world's error handler stays untouched: in MPICH, copies of a
/// communicator without a handler of its own use the world's handler at the time of the error, and a copy to
/// which the default was restored would end the program.
MPI_Comm make_merge_comm(Made when) noexcept;

/// Collective over the world. True when this rank's image is in a complete merged file; otherwise the rank's
/// own file stays.
bool merge(Merging& merging) noexcept;

// A run that ends before MPI_Finalize, on all ranks: rank 0 gets the data that it is to write then.

/// Set by who has something to write; null where nobody has.
struct EarlyEnd {
    /// Returns the data of this rank; the run goes on meanwhile.
    std::string (*collect)() noexcept = nullptr;
    /// Writes the data of all ranks; called on rank 0.
    void (*write)(std::span<const std::string> of_ranks) noexcept = nullptr;
};
inline constinit EarlyEnd early_end;

}  // namespace mpiric::world
