// Dispatch of a collective call that does not take the fast path: to the library, one of its other
// algorithms, or one of ours.
#pragma once

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "select/collective_call.hpp"
#include "select/comm_state.hpp"

#include <vector>

namespace mpiric::select {

/// Candidates that give the right result for a call, the library first: the same on every rank.
std::vector<uint32_t> serving(CommState& state, const CollectiveCall& call);

/// Runs a call by a candidate; by the library when the candidate cannot serve it.
int run(CommState& state, const CollectiveCall& call, uint32_t candidate);

/// Dispatches a blocking call.
int dispatch(CommState& state, Entry& entry, CollectiveCall& call) noexcept;

/// Starts a call that does not block.
int dispatch_start(CommState& state, Entry& entry, CollectiveCall& call) noexcept;

/// The entry of a form that does not block; null when memory is short.
Entry* started_entry(CommState& state, Collective collective, uint32_t size_class) noexcept;

/// Agrees on the times of started calls whose blocks are full, in a blocking collective of the program on the
/// same communicator.
void agree_on_started(CommState& state, MPI_Comm comm) noexcept;

/// While it lives, calls of this thread go straight to the library.
class DispatchScope {
  public:
    explicit DispatchScope(Thread& self) noexcept : self_(self) { self_.dispatching = true; }
    ~DispatchScope() { self_.dispatching = false; }
    DispatchScope(const DispatchScope&) = delete;
    DispatchScope& operator=(const DispatchScope&) = delete;

  private:
    Thread& self_;
};

}  // namespace mpiric::select
