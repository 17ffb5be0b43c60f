// Families whose predefined handles are numbers: MPICH and the standard ABI.
#include "world/library.hpp"

#include <algorithm>
#include <iterator>

namespace mpiric::world {
namespace {

#ifdef MPI_UNWEIGHTED
const int* unweighted() noexcept { return MPI_UNWEIGHTED; }
const int* weights_empty() noexcept { return MPI_WEIGHTS_EMPTY; }
#else
/// MPICH's are variables of the library.
const int* value_of(const char* symbol) noexcept {
    const auto* variable = static_cast<const int* const*>(find_variable(symbol));
    return variable ? *variable : nullptr;
}
const int* unweighted() noexcept { return value_of("MPI_UNWEIGHTED"); }
const int* weights_empty() noexcept { return value_of("MPI_WEIGHTS_EMPTY"); }
#endif

}  // namespace

Handles predefined() noexcept {
    return {MPI_COMM_WORLD,    MPI_COMM_SELF, MPI_COMM_NULL, MPI_WIN_NULL, MPI_DATATYPE_NULL, MPI_BYTE,
            MPI_ERRORS_RETURN, MPI_INFO_NULL, MPI_OP_NULL,   unweighted(), weights_empty()};
}

std::array<MPI_Datatype, 13> types_of_c() noexcept {
    return {MPI_BYTE,  MPI_CHAR,     MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT,
            MPI_INT,   MPI_UNSIGNED, MPI_LONG,        MPI_UNSIGNED_LONG, MPI_LONG_LONG,
            MPI_FLOAT, MPI_DOUBLE,   MPI_LONG_DOUBLE};
}

bool is_predefined(MPI_Op op) noexcept {
    const MPI_Op own[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,    MPI_LOR,
                          MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    return std::find(std::begin(own), std::end(own), op) != std::end(own);
}

}  // namespace mpiric::world
