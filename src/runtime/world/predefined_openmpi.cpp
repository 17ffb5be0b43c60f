// Open MPI: predefined handles are addresses of its objects.
#include "world/predefined.hpp"

namespace mpiric::world {
namespace {

template <class Handle> Handle object(const char* symbol) noexcept {
    return reinterpret_cast<Handle>(find_variable(symbol));
}

}  // namespace

Handles predefined() noexcept {
    return {object<MPI_Comm>("ompi_mpi_comm_world"), object<MPI_Comm>("ompi_mpi_comm_self"),
            object<MPI_Comm>("ompi_mpi_comm_null"),  object<MPI_Group>("ompi_mpi_group_null"),
            object<MPI_Win>("ompi_mpi_win_null"),    object<MPI_Datatype>("ompi_mpi_datatype_null"),
            object<MPI_Datatype>("ompi_mpi_byte"),   object<MPI_Errhandler>("ompi_mpi_errors_return"),
            object<MPI_Info>("ompi_mpi_info_null"),  object<MPI_Op>("ompi_mpi_op_null")};
}

}  // namespace mpiric::world
