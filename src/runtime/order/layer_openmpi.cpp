// Open MPI's Fortran layer looks attributes of communicators up in the object behind a handle, which it has
// got by PMPI_Comm_f2c just before, and hands functions of the program to names of the library's own.
#include "order/callbacks.hpp"

namespace mpiric::order {
namespace {

/// Attributes that the library has set, all of them integers, are attributes of its own world.
template <class Value> int get_by_name(const char* name, void* attributes, int key, Value* value, int* flag) {
    const auto get = following<int (*)(void*, int, Value*, int*)>(name);
    const int result = get(attributes, key, value, flag);
    if (result != MPI_SUCCESS || *flag || !converted_world)
        return result;
    void* found = nullptr;
    const int again = following<int (*)(MPI_Comm, int, void*, int*)>("PMPI_Comm_get_attr")(
        worlds.program, key, static_cast<void*>(&found), flag);
    if (again == MPI_SUCCESS && *flag)
        *value = *static_cast<int*>(found);
    return result;
}

constexpr int of_communicators = 1;  // attributes and error handlers
constexpr int in_c = 0;

/// The number of a communicator that the program knows.
int number_for_program(int number) noexcept {
    const auto number_of = following<int (*)(MPI_Comm)>("PMPI_Comm_c2f");
    return number == number_of(worlds.ordered) ? number_of(worlds.program) : number;
}

/// A function of a Fortran program whose first argument is a communicator.
template <class... Rest> struct InFortran {
    using Pointer = void (*)(int*, Rest...);
    static constexpr size_t kind = sizeof...(Rest) == 1 ? 3 : sizeof...(Rest) == 4 ? 4 : 5;
    template <size_t at> static void call(int* comm, Rest... rest) {
        int seen = number_for_program(*comm);
        EntrancesOf<InFortran>::template given<at>()(&seen, rest...);
    }
};
using FortranErrorHandler = InFortran<int*>;
using FortranDeletion = InFortran<void*, void*, void*, int*>;
using FortranCopy = InFortran<void*, void*, void*, void*, void*, int*>;

template <class Kind> void* entrance(void* function) noexcept {
    if (!function || worlds.ordered == worlds.program)
        return function;
    return reinterpret_cast<void*>(EntrancesOf<Kind>::entrance(reinterpret_cast<Kind::Pointer>(function)));
}

template <class Extra>
int create_key(const char* name, int type, void* copy, void* remove, int* key, Extra extra, int flags,
               void* bindings) {
    const auto create = following<int (*)(int, void*, void*, int*, Extra, int, void*)>(name);
    if (type != of_communicators)
        return create(type, copy, remove, key, extra, flags, bindings);
    return create(type, entrance<FortranCopy>(copy), entrance<FortranDeletion>(remove), key, extra, flags,
                  bindings);
}

}  // namespace

MPIRIC_EXPORTED int ompi_attr_create_keyval_fint(int type, void* copy, void* remove, int* key, MPI_Fint extra,
                                                 int flags, void* bindings) {
    return create_key("ompi_attr_create_keyval_fint", type, copy, remove, key, extra, flags, bindings);
}

MPIRIC_EXPORTED int ompi_attr_create_keyval_aint(int type, void* copy, void* remove, int* key, MPI_Aint extra,
                                                 int flags, void* bindings) {
    return create_key("ompi_attr_create_keyval_aint", type, copy, remove, key, extra, flags, bindings);
}

MPIRIC_EXPORTED void* ompi_errhandler_create(int type, void* handle, int language) {
    const auto create = following<void* (*)(int, void*, int)>("ompi_errhandler_create");
    const bool of_program = type == of_communicators && language != in_c;
    return create(type, of_program ? entrance<FortranErrorHandler>(handle) : handle, language);
}

MPIRIC_EXPORTED int ompi_attr_get_fint(void* attributes, int key, MPI_Fint* value, int* flag) {
    return get_by_name("ompi_attr_get_fint", attributes, key, value, flag);
}

MPIRIC_EXPORTED int ompi_attr_get_aint(void* attributes, int key, MPI_Aint* value, int* flag) {
    return get_by_name("ompi_attr_get_aint", attributes, key, value, flag);
}

}  // namespace mpiric::order
