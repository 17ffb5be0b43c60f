// One stand-in: a program's family over a library's. All of it is compiled at once, for every call is made of
// the same parts.
// clang-format off
#include "pair.hpp"

#include "arguments.hpp"

constinit thread_local int mpiric_depth = 0;

#include "kept.cpp"

#include "by_hand/others.cpp"
#include "by_hand/callbacks.cpp"
#include "by_hand/keyvals.cpp"

#include "by_hand/attributes.cpp"
#include "by_hand/spawn.cpp"
#include "by_hand/tools.cpp"

namespace mpiric::translate {
#include "generated/functions.inc"
}  // namespace mpiric::translate

#include "by_hand/large_types.cpp"

#include "by_hand/large_counts.cpp"

namespace mpiric::translate {
#include "generated/narrow.inc"
}  // namespace mpiric::translate

#include "by_hand/fortran.cpp"

#include "by_hand/extensions.cpp"

#include "open.cpp"
