// A collective call of the program, with its arguments behind it.
#pragma once

#include "base/collective.hpp"
#include "coll/algorithm.hpp"
#include "coll/datatype.hpp"
#include "world/library.hpp"

#include <cstdint>

namespace mpiric::select {

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
    const void* arguments;
    int (*next)(const void* arguments, bool to_library,
                MPI_Comm comm);  ///< the next definition of the function
    void (*fill)(const void* arguments, coll::Arguments& call);

    /// Leaves the call to the library, or to a tool between.
    int pass_on() const { return next(arguments, false, comm); }
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

}  // namespace mpiric::select
