// The MPI library of this process: found among what is loaded, never linked. The only caller of PMPI_ for us.
#pragma once

#include MPIRIC_MPI_HEADER
#include <array>
#include <mpiric_available.h>  // MPIRIC_HAS_<function> for each that the header declares

namespace mpiric::world {

/// Address of the next definition of a symbol after this library, or of the one in an MPI library that was
/// opened privately (Python opens its own). Null when nobody has it.
void* find(const char* symbol) noexcept;

/// A stand-in (src/translate): a library with the types of the program's family that translates its calls for
/// a library of another one. Its entrances tell the library's own calls apart before any argument is read, so
/// the runtime is called behind them instead of in front.
struct StandIn {
    void* handle;  ///< handle of dlopen
    const char* family;
    void* (*entrance)(const char* name);  ///< entrance of an exported name, null for any other name
    void* (*next)(const char* name);      ///< function behind the entrance of a name, null when there is none
    void (*lead)(const char* name, void* target);  ///< puts a function between the two
};

/// The stand-in that this process has instead of an MPI library of its own; null when it has none.
const StandIn* stand_in() noexcept;

/// The definition of an MPI function: by find(), or the translation of a stand-in.
void* find_function(const char* symbol) noexcept;

/// find() among what the program was linked to: null as long as an MPI library is only opened privately.
void* find_linked(const char* symbol) noexcept;

/// Address of a variable: the program's copy if the linker has made one, else the library's.
void* find_variable(const char* symbol) noexcept;

/// Whether a loaded MPI library is of the family this build is for. Others must not be called with our types.
bool family_fits() noexcept;

/// Version text of the library, empty before family_fits().
const char* version_text() noexcept;

// clang-format off
#define MPIRIC_OWN_CALLS(X) \
    X(Comm_rank) X(Comm_size) X(Comm_test_inter) X(Comm_group) X(Comm_remote_group) X(Comm_get_name) \
    X(Comm_idup) X(Comm_set_name) X(Comm_create_keyval) X(Comm_set_attr) X(Comm_split) X(Comm_free) X(Comm_get_errhandler) X(Comm_set_errhandler) X(Errhandler_free) X(Comm_get_parent) \
    X(Group_size) X(Group_rank) X(Group_incl) X(Group_free) X(Group_translate_ranks) X(Group_from_session_pset) X(Win_get_group) \
    X(Topo_test) X(Cartdim_get) X(Graph_neighbors_count) X(Dist_graph_neighbors_count) \
    X(Type_size) X(Get_elements_x) X(Test_cancelled) X(Iprobe) X(Test) X(Send) X(Recv) X(Barrier) X(Query_thread) \
    X(Comm_split_type) X(Sendrecv_replace) X(Isend) X(Irecv) X(Testall) X(Testany) X(Bcast) X(Allgather) X(Reduce_local) X(Op_commutative) \
    X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent) X(Type_contiguous) X(Type_create_struct) X(Type_commit) X(Type_free) \
    X(Pack) X(Unpack) X(Comm_call_errhandler) X(Type_get_name) X(Abort) \
    X(Info_create) X(Info_dup) X(Info_set) X(Info_get) X(Info_get_nkeys) X(Info_get_nthkey) X(Info_free) X(File_get_info) X(File_get_position) X(File_get_byte_offset) \
    X(T_init_thread) X(T_cvar_get_num) X(T_cvar_get_info) X(T_cvar_handle_alloc) X(T_cvar_read) X(T_cvar_write)
// clang-format on

/// Functions of the library that the runtime calls itself; null where the library lacks one.
struct Library {
#define MPIRIC_POINTER(name) decltype(&PMPI_##name) name = nullptr;
    MPIRIC_OWN_CALLS(MPIRIC_POINTER)
#undef MPIRIC_POINTER
};
extern constinit Library library;

/// Predefined handles. In some families they are addresses inside the library, so they are looked up.
struct Handles {
    MPI_Comm comm_world{}, comm_self{}, comm_null{};
    MPI_Win win_null{};
    MPI_Datatype type_null{}, byte{};
    MPI_Errhandler errors_return{};
    MPI_Info info_null{};
    MPI_Op op_null{};
    const int *unweighted{}, *weights_empty{};  ///< special values of a distributed graph's weights
};
extern constinit Handles handles;

/// Values of the predefined handles; one source file per way a family has of defining them.
Handles predefined() noexcept;

/// Datatypes of C that every library has: their sizes are recorded before a call has used them.
std::array<MPI_Datatype, 13> types_of_c() noexcept;

/// Whether an operation is one of MPI's own.
bool is_predefined(MPI_Op op) noexcept;

/// Fills `library` and `handles`; only when family_fits().
void bind() noexcept;

}  // namespace mpiric::world
