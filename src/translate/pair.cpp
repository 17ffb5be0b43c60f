// One stand-in: a program's family over a library's. All of it is compiled at once, for every call is made of
// the same parts.
// clang-format off
#include "pair.hpp"

#include "arguments.hpp"

constinit thread_local int mpiric_depth = 0;

#include "by_hand/others.hpp"
#include "by_hand/callbacks.hpp"
#include "by_hand/attributes.hpp"
#include "by_hand/spawn.hpp"
#include "by_hand/tools.hpp"

namespace mpiric::translate {
#include "generated/functions.inc"
}  // namespace mpiric::translate

#include "by_hand/large_counts.hpp"

namespace mpiric::translate {
#include "generated/narrow.inc"
}  // namespace mpiric::translate

#include "by_hand/fortran.cpp"

#include "by_hand/extensions.cpp"

#include "open.cpp"
