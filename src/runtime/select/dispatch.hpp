// Dispatch of a collective call that does not take the fast path of select/collectives.cpp: dispatch()
// decides who serves it and runs it, measured where the tuner learns. The state is the communicator's
// (CommState), and lives as long as that; a CollectiveCall lives as long as its call.
#pragma once

#include "base/clock.hpp"
#include "base/thread.hpp"
#include "coll/algorithm.hpp"
#include "coll/datatype.hpp"
#include "select/comm_state.hpp"

#include <vector>

namespace mpiric::select {

/// Data that a call moves: elements of a datatype, divided among `shares` ranks where policies use the size
/// of one rank's part.
struct Amount {
    uint64_t elements = 0;
    MPI_Datatype type{};
    uint32_t shares = 1;
    MPI_Op op{};
    bool unsized = false;  ///< the size is not known to all ranks
};

/// A tuned function: positions of its arguments, and functions that use the arguments of a call, which are
/// given by their addresses.
struct TunedFunction {
    Collective collective;
    size_t comm, root, request;  ///< 0 as `root`: there is none
    Amount (*measure)(const void* const* arguments, const CommState& state);
    /// Calls the next definition of the function, or the library's own, on a communicator.
    int (*next)(const void* const* arguments, bool to_library, MPI_Comm comm);
    void (*fill)(const void* const* arguments, coll::Arguments& call);
};

/// A collective call of the program.
struct CollectiveCall {
    const TunedFunction& function;
    const void* const* arguments;
    bool by_profiling_name;
    MPI_Comm comm;
    int root;  ///< 0 where there is none
    Amount moved{};
    uint64_t bytes = 0;      ///< size in policies
    uint64_t all_bytes = 0;  ///< size for our algorithms
    bool commutes = true;    ///< true where nothing is reduced

    /// Leaves the call to the library, or to a tool between.
    int next() const { return function.next(arguments, by_profiling_name, comm); }
};

/// Whether other ranks may describe the same data by another datatype and count: algorithms that cut messages
/// into pieces of a number of elements do not support that.
inline bool is_composed(const CollectiveCall& call) noexcept {
    constexpr uint64_t largest_predefined = 32;  // bytes
    if (reduces(call.function.collective) || call.bytes == 0)
        return false;
    const coll::Geometry geometry = coll::geometry_of(call.moved.type);
    return !geometry.dense() || geometry.size > largest_predefined;
}

/// Serves a call: by the library, or by the candidate that the tuner has chosen or tries.
[[gnu::noinline]] int dispatch(const TunedFunction& function, const void* const* arguments,
                               bool by_profiling_name);

/// Runs a call by a candidate; by the library when the candidate cannot serve it.
int run_candidate(CommState& state, const CollectiveCall& call, uint32_t candidate);

/// Runs a call that does not block by the candidate that is being learned about, and times it if it counts.
int explore_started(CommState& state, Entry& entry, Exploration& exploration, const CollectiveCall& call);

/// Agrees on the times of started calls whose blocks are full, in a blocking collective on the communicator.
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
