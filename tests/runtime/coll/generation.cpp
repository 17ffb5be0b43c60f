// What the algorithms take from the rest of the runtime, which is not linked here.
#include "world/datatypes.hpp"

namespace mpiric::world {

constinit std::atomic<uint32_t> generation{1};

}  // namespace mpiric::world
