// A run that ends before MPI_Finalize, on all ranks: rank 0 gets the data that it is to write then.
#pragma once

#include <span>
#include <string>

namespace mpiric::world {

/// Set by who has something to write; null where nobody has.
struct EarlyEnd {
    /// Returns the data of this rank; the run goes on meanwhile.
    std::string (*collect)() noexcept = nullptr;
    /// Writes the data of all ranks; called on rank 0.
    void (*write)(std::span<const std::string> of_ranks) noexcept = nullptr;
};
inline constinit EarlyEnd early_end;

}  // namespace mpiric::world
