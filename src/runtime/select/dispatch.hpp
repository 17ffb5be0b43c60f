// Dispatch of a collective call that does not take the fast path: to the library, or another algorithm.
#pragma once

#include "base/clock.hpp"
#include "base/collective.hpp"
#include "base/thread.hpp"
#include "coll/algorithm.hpp"
#include "coll/datatype.hpp"
#include "select/comm_state.hpp"
#include "world/library.hpp"

#include <cstdint>
#include <vector>

namespace mpiric::select {

/// Functions that use the arguments of a call, which are given by their addresses.
struct CallAccess {
    /// The next definition of the function, or the library's own, on a communicator.
    int (*next)(const void* const* arguments, bool to_library, MPI_Comm comm);
    void (*fill)(const void* const* arguments, coll::Arguments& call);
};

/// A collective call of the program, with its arguments behind it.
struct CollectiveCall {
    Collective collective;
    MPI_Comm comm;
    uint64_t bytes;        ///< size in policies
    uint64_t all_bytes;    ///< size for our algorithms
    uint64_t count;        ///< reductions: elements
    MPI_Datatype type;     ///< reductions
    MPI_Op op;             ///< reductions
    int root;              ///< 0 where there is none
    MPI_Request* request;  ///< forms that do not block
    bool commutes;         ///< set by dispatch(); true where nothing is reduced
    bool by_profiling_name;
    const void* const* arguments;
    const CallAccess* access;

    /// Leaves the call to the library, or to a tool between.
    int pass_on() const { return access->next(arguments, by_profiling_name, comm); }
};

inline bool commutes(const CollectiveCall& call) noexcept {
    int commutative = 1;
    return !reduces(call.collective) ||
           (world::library.Op_commutative(call.op, &commutative) == MPI_SUCCESS && commutative);
}

/// Whether other ranks may describe the same data by another datatype and count: algorithms that cut messages
/// into pieces of a number of elements do not support that.
inline bool is_composed(const CollectiveCall& call) noexcept {
    constexpr uint64_t largest_predefined = 32;  // bytes
    if (reduces(call.collective) || call.bytes == 0)
        return false;
    const coll::Geometry geometry = coll::geometry_of(call.type);
    return !geometry.dense() || geometry.size > largest_predefined;
}

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
