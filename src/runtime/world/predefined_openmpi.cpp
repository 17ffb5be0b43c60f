// Open MPI: predefined handles are addresses of its objects.
#include "world/library.hpp"

#include <algorithm>
#include <array>

namespace mpiric::world {
namespace {

template <class Handle> Handle object(const char* symbol) noexcept {
    return reinterpret_cast<Handle>(find_variable(symbol));
}

}  // namespace

Handles predefined() noexcept {
    return {object<MPI_Comm>("ompi_mpi_comm_world"),
            object<MPI_Comm>("ompi_mpi_comm_self"),
            object<MPI_Comm>("ompi_mpi_comm_null"),
            object<MPI_Win>("ompi_mpi_win_null"),
            object<MPI_Datatype>("ompi_mpi_datatype_null"),
            object<MPI_Datatype>("ompi_mpi_byte"),
            object<MPI_Errhandler>("ompi_mpi_errors_return"),
            object<MPI_Info>("ompi_mpi_info_null"),
            object<MPI_Op>("ompi_mpi_op_null"),
            MPI_UNWEIGHTED,
            MPI_WEIGHTS_EMPTY};
}

std::array<MPI_Datatype, 13> types_of_c() noexcept {
    return {object<MPI_Datatype>("ompi_mpi_byte"),          object<MPI_Datatype>("ompi_mpi_char"),
            object<MPI_Datatype>("ompi_mpi_signed_char"),   object<MPI_Datatype>("ompi_mpi_unsigned_char"),
            object<MPI_Datatype>("ompi_mpi_short"),         object<MPI_Datatype>("ompi_mpi_int"),
            object<MPI_Datatype>("ompi_mpi_unsigned"),      object<MPI_Datatype>("ompi_mpi_long"),
            object<MPI_Datatype>("ompi_mpi_unsigned_long"), object<MPI_Datatype>("ompi_mpi_long_long_int"),
            object<MPI_Datatype>("ompi_mpi_float"),         object<MPI_Datatype>("ompi_mpi_double"),
            object<MPI_Datatype>("ompi_mpi_long_double")};
}

bool is_predefined(MPI_Op op) noexcept {
    static const std::array<MPI_Op, 14> own = {
        object<MPI_Op>("ompi_mpi_op_max"),     object<MPI_Op>("ompi_mpi_op_min"),
        object<MPI_Op>("ompi_mpi_op_sum"),     object<MPI_Op>("ompi_mpi_op_prod"),
        object<MPI_Op>("ompi_mpi_op_land"),    object<MPI_Op>("ompi_mpi_op_band"),
        object<MPI_Op>("ompi_mpi_op_lor"),     object<MPI_Op>("ompi_mpi_op_bor"),
        object<MPI_Op>("ompi_mpi_op_lxor"),    object<MPI_Op>("ompi_mpi_op_bxor"),
        object<MPI_Op>("ompi_mpi_op_maxloc"),  object<MPI_Op>("ompi_mpi_op_minloc"),
        object<MPI_Op>("ompi_mpi_op_replace"), object<MPI_Op>("ompi_mpi_op_no_op")};
    return std::find(own.begin(), own.end(), op) != own.end();
}

}  // namespace mpiric::world
