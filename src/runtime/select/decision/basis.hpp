// The basis of every decision: equal on all ranks of the job from MPI_Init on.
#pragma once

#include "base/options.hpp"
#include "tune/candidate.hpp"
#include "tune/policy.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace mpiric::select {

/// Rules that rank 0 of the world sets for all ranks.
struct Rules {
    Collectives mode = Collectives::off;
    double learn_at_most = 0;
    bool reprove = true;
    bool reproducible = false;
    bool writes_policy = false;
    uint32_t learn_ranks = 2;
    uint64_t learn_only = UINT64_MAX;  ///< a bit for each collective
    uint64_t scratch_bytes = 0;
    uint64_t policy_bytes = 0;
};

/// Rules that the options ask for; says so when MPIRIC_LEARN_ONLY names no collective.
Rules rules_of(const Options& options, bool writes_policy);

struct Basis {
    Rules rules;
    tune::Catalogue catalogue;
    std::vector<bool> usable;  ///< indexed by candidate: usable on every rank
    /// Indexed by candidate: the order of reduction depends on size and count alone.
    std::vector<bool> fixed_order;
    std::optional<tune::Policy> policy;
};

/// Whether times may decide about a collective: not about reductions whose results must be reproducible.
inline bool may_vary(const Rules& rules, Collective collective) noexcept {
    return !(rules.reproducible && reduces(collective));
}

}  // namespace mpiric::select
