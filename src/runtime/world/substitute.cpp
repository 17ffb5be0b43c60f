#include "world/substitute.hpp"

namespace mpiric::world {

constinit MPI_Comm world_stand_in{};

}  // namespace mpiric::world
