// A run that ends before MPI_Finalize, on all ranks: rank 0 gets the data that it is to write then.
#pragma once

#include <span>
#include <string>

namespace mpiric::world {

/// Set by who has something to write; null where nobody has.
struct EarlyEnd {
    std::string (*collect)() noexcept = nullptr;  ///< what this rank hands over, while the run goes on
    void (*write)(std::span<const std::string> of_ranks) noexcept = nullptr;  ///< on rank 0
};
inline constinit EarlyEnd early_end;

}  // namespace mpiric::world
