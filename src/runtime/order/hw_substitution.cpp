// Functions before the library's that do more than pass communicators on (reasons: spec/mpi/exceptions.toml).
#include "order/callbacks.hpp"

#include <dlfcn.h>
#include <string_view>
#include <strings.h>

namespace mpiric::order {
namespace {

/// Whether a function is one of the library's own: a value to compare, or one that uses no communicator.
bool is_predefined(const void* function) noexcept {
    Dl_info there{}, library{};
    return reinterpret_cast<uintptr_t>(function) < 4096 ||
           (dladdr(function, &there) && dladdr(world::find("PMPI_Init"), &library) &&
            there.dli_fbase == library.dli_fbase);
}

template <class Kind, class Pointer> Pointer entrance(Pointer function) noexcept {
    return is_predefined(reinterpret_cast<const void*>(function)) ? function : Kind::entrance(function);
}

/// Attributes that the library has set are attributes of its own world.
template <Function function> int get_attribute(MPI_Comm comm, int key, void* value, int* flag) {
    auto* get = next<function, decltype(&get_attribute<function>)>();
    const int result = get(to_library(comm), key, value, flag);
    if (result != MPI_SUCCESS || *flag || comm != worlds.program || worlds.ordered == worlds.program)
        return result;
    return get(comm, key, value, flag);
}

/// Errors that belong to no communicator go to the handler of the library's own world.
template <Function function> int set_error_handler(MPI_Comm comm, MPI_Errhandler handler) {
    auto* set = next<function, decltype(&set_error_handler<function>)>();
    const int result = set(to_library(comm), handler);
    if (result == MPI_SUCCESS && comm == worlds.program && worlds.ordered != worlds.program)
        return set(comm, handler);
    return result;
}

template <Function function>
int create_error_handler(MPI_Comm_errhandler_function* handle, MPI_Errhandler* handler) {
    return next<function, decltype(&create_error_handler<function>)>()(entrance<ErrorHandlers>(handle),
                                                                       handler);
}

template <Function function>
int create_key(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove, int* key,
               void* extra) {
    return next<function, decltype(&create_key<function>)>()(entrance<Copies>(copy),
                                                             entrance<Deletions>(remove), key, extra);
}

/// A number for a handle: the number of the handle that the program knows.
template <Function function> int number_of(MPI_Comm comm) {
    return next<function, decltype(&number_of<function>)>()(to_program(comm));
}

/// Fortran layers that hold communicators as objects convert by the PMPI_ name, and look into the object.
MPI_Comm object_of(int number) {
    const MPI_Comm comm = next<Function::MPI_Comm_f2c, decltype(&object_of)>()(number);
    converted_world = comm == worlds.program && worlds.ordered != worlds.program;
    return to_library(comm);
}
constexpr bool layer_holds_objects = std::string_view(MPIRIC_FAMILY) == "openmpi";

#if MPIRIC_HAS_MPI_Group_from_session_pset
int group_of_set(MPI_Session session, const char* name, MPI_Group* group) {
    const int result =
        next<Function::MPI_Group_from_session_pset, decltype(&group_of_set)>()(session, name, group);
    if (result == MPI_SUCCESS && strcasecmp(name, "mpi://WORLD") == 0)
        reorder_group(*group);
    return result;
}
#endif

template <class Code> symbols::NextFunction both(Code* code) noexcept {
    return {reinterpret_cast<void*>(code), reinterpret_cast<void*>(code)};
}

}  // namespace

#define MPIRIC_BEFORE(name, body)                                                                            \
    case Function::name:                                                                                     \
        return both(&body<Function::name>);

symbols::NextFunction handwritten_before_library(Function function) noexcept {
    switch (function) {
        MPIRIC_BEFORE(MPI_Comm_get_attr, get_attribute)
        MPIRIC_BEFORE(MPI_Attr_get, get_attribute)
        MPIRIC_BEFORE(MPI_Comm_set_errhandler, set_error_handler)
        MPIRIC_BEFORE(MPI_Errhandler_set, set_error_handler)
        MPIRIC_BEFORE(MPI_Comm_create_errhandler, create_error_handler)
        MPIRIC_BEFORE(MPI_Errhandler_create, create_error_handler)
        MPIRIC_BEFORE(MPI_Comm_create_keyval, create_key)
        MPIRIC_BEFORE(MPI_Keyval_create, create_key)
        MPIRIC_BEFORE(MPI_Comm_c2f, number_of)
        MPIRIC_BEFORE(MPI_Comm_toint, number_of)
    case Function::MPI_Comm_f2c:
        return layer_holds_objects ? symbols::NextFunction{nullptr, reinterpret_cast<void*>(&object_of)}
                                   : symbols::NextFunction{};
#if MPIRIC_HAS_MPI_Group_from_session_pset
    case Function::MPI_Group_from_session_pset:
        return both(&group_of_set);
#endif
    default:
        return {};
    }
}

}  // namespace mpiric::order
