// Running a collective call by a candidate.
#pragma once

#include "select/collective_call.hpp"

#include <cstdint>
#include <vector>

namespace mpiric::select {

struct CommState;

/// Candidates that give the right result for a call, the library first: the same on every rank.
std::vector<uint32_t> serving(CommState& state, const CollectiveCall& call);

/// Runs a call by a candidate; by the library when the candidate cannot serve it.
int run(CommState& state, const CollectiveCall& call, uint32_t candidate);

}  // namespace mpiric::select
