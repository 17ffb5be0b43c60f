// Families whose predefined handles are numbers: MPICH and the standard ABI.
#include "world/library.hpp"

#include <algorithm>
#include <iterator>

namespace mpiric::world {

Handles predefined() noexcept {
    return {MPI_COMM_WORLD, MPI_COMM_SELF,     MPI_COMM_NULL, MPI_WIN_NULL, MPI_DATATYPE_NULL,
            MPI_BYTE,       MPI_ERRORS_RETURN, MPI_INFO_NULL, MPI_OP_NULL};
}

bool is_predefined(MPI_Op op) noexcept {
    const MPI_Op own[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,    MPI_LOR,
                          MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    return std::find(std::begin(own), std::end(own), op) != std::end(own);
}

}  // namespace mpiric::world
