// The list of all algorithms, which the linker gathers from the sources that register them.
#include "coll/algorithm.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

// Bounds of the section that the linker gathers from MPIRIC_ALGORITHMS.
// NOLINTBEGIN(bugprone-reserved-identifier): the linker derives these names from the section's name.
extern "C" {
[[gnu::visibility("hidden")]] extern const mpiric::coll::Algorithm* __start_mpiric_algorithms[];
[[gnu::visibility("hidden")]] extern const mpiric::coll::Algorithm* __stop_mpiric_algorithms[];
}
// NOLINTEND(bugprone-reserved-identifier)

namespace mpiric::coll {
namespace {

/// Whether there is anything to move or reduce: else the library's own is as quick. Reductions count in int.
bool has_work(const Workload& workload) noexcept {
    switch (workload.collective) {
    case Collective::barrier:
    case Collective::alltoallv:
    case Collective::gatherv:
    case Collective::scatterv:
        return true;
    default:
        return workload.bytes > 0 && workload.count <= INT32_MAX;
    }
}

}  // namespace

std::span<const Algorithm* const> algorithms() noexcept {
    static const std::span<const Algorithm* const> sorted = [] {
        const std::span<const Algorithm*> all{__start_mpiric_algorithms, __stop_mpiric_algorithms};
        std::ranges::sort(all, {}, [](const Algorithm* each) {
            return std::pair(each->collective, std::string_view(each->name));
        });
        return all;
    }();
    return sorted;
}

bool serves(const Algorithm& algorithm, const Workload& workload, uint64_t scratch_bytes) noexcept {
    return algorithm.collective == workload.collective && workload.layout.size > 1 && has_work(workload) &&
           (!algorithm.suits || algorithm.suits(workload)) &&
           (!algorithm.scratch || algorithm.scratch(workload) <= scratch_bytes);
}

}  // namespace mpiric::coll
