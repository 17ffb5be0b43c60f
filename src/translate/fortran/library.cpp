// Fortran's MPI library for programs of one ABI family, over the C functions of that family: the stand-in's.
// clang-format off
#include "fortran/convert.hpp"

#include "closures.hpp"

#if MPIRIC_IS(MPIRIC_PROGRAM) != 2
// Where a program's own common blocks do not take their place.
extern "C" {
alignas(16) char mpipriv1_[28], mpipriv2_[24], mpiprivc_[2], mpifcmb5_[4], mpifcmb9_[4], mpifcmba_[4];
}
#endif

#define ASM(text) asm(text);
#define FORTRAN(name) extern "C" [[gnu::used]] [[gnu::visibility("hidden")]] void f_##name

// Every compiler has its own shape of a name; Open MPI's modules use names of Open MPI's own.
asm(R"(
.macro NAME name target
    .weak \name
    .type \name, @function
    .set \name, \target
.endm
.macro SHAPES upper lower prefix PREFIX target
    NAME \PREFIX\upper \target
    NAME \prefix\lower \target
    NAME \prefix\lower\()_ \target
    NAME \prefix\lower\()__ \target
.endm
.macro NAMES upper lower mixed
    SHAPES \upper \lower mpi_ MPI_ f_MPI_\mixed
    SHAPES \upper \lower pmpi_ PMPI_ f_MPI_\mixed
    NAME ompi_\lower\()_f f_MPI_\mixed
.endm
.macro EXTENSION upper lower mixed
    SHAPES \upper \lower mpix_ MPIX_ f_MPI_\mixed
    SHAPES \upper \lower pmpix_ PMPIX_ f_MPI_\mixed
    NAME ompix_\lower\()_f f_MPI_\mixed
.endm
.macro ALSO upper lower mixed
    SHAPES \upper \lower mpi_ MPI_ f_MPI_\mixed
    SHAPES \upper \lower pmpi_ PMPI_ f_MPI_\mixed
.endm
)");

namespace mpiric::translate {

long peers(int comm) {
    int is_between = 0, count = 0;
    const PComm given = handle<Comm>(comm);
    C(MPI_Comm_test_inter)(given, &is_between);
    if (is_between)
        C(MPI_Comm_remote_size)(given, &count);
    else
        C(MPI_Comm_size)(given, &count);
    return count;
}

long dimensions(int comm) {
    int count = 0;
    C(MPI_Cartdim_get)(handle<Comm>(comm), &count);
    return count;
}

template <bool is_sending> long neighbours(int comm) {
    const PComm given = handle<Comm>(comm);
    const auto& topologies = program::topology_values;  // UNDEFINED CART GRAPH DIST_GRAPH
    int topology = topologies[0], count = 0, other = 0, rank = 0, is_weighted = 0;
    C(MPI_Topo_test)(given, &topology);
    if (topology == topologies[1])
        return 2 * dimensions(comm);
    if (topology == topologies[2]) {
        C(MPI_Comm_rank)(given, &rank);
        C(MPI_Graph_neighbors_count)(given, rank, &count);
    } else if (topology == topologies[3]) {
        C(MPI_Dist_graph_neighbors_count)(given, is_sending ? &other : &count, is_sending ? &count : &other, &is_weighted);
    }
    return count;
}

#include "generated/fortran.inc"
}  // namespace mpiric::translate

#include "fortran/attributes.cpp"
#include "fortran/by_hand.cpp"
#include "fortran/callbacks.cpp"

#include "generated/fortran_names.inc"
ASM("ALSO ALLOC_MEM_CPTR alloc_mem_cptr Alloc_mem")
ASM("ALSO WIN_ALLOCATE_CPTR win_allocate_cptr Win_allocate")
ASM("ALSO WIN_ALLOCATE_SHARED_CPTR win_allocate_shared_cptr Win_allocate_shared")
ASM("ALSO WIN_SHARED_QUERY_CPTR win_shared_query_cptr Win_shared_query")
ASM("NAMES F_SYNC_REG f_sync_reg F_sync_reg")
