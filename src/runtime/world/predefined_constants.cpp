// Families whose predefined handles are numbers: MPICH and the standard ABI.
#include "world/predefined.hpp"

namespace mpiric::world {

Handles predefined() noexcept {
    return {MPI_COMM_WORLD,    MPI_COMM_SELF, MPI_COMM_NULL,     MPI_GROUP_NULL, MPI_WIN_NULL,
            MPI_DATATYPE_NULL, MPI_BYTE,      MPI_ERRORS_RETURN, MPI_INFO_NULL,  MPI_OP_NULL};
}

}  // namespace mpiric::world
