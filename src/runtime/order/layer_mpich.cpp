// MPICH's Fortran layer passes attributes of communicators, and functions that copy and delete them, to names
// of the library's own.
#include "order/callbacks.hpp"

namespace mpiric::order {
namespace {

using Get = int (*)(MPI_Comm, int, void*, int*, int);
using Set = int (*)(MPI_Comm, int, void*, int);

int get_by_name(const char* name, MPI_Comm comm, int key, void* value, int* flag, int type) {
    const Get get = following<Get>(name);
    const int result = get(to_library(comm), key, value, flag, type);
    if (result != MPI_SUCCESS || *flag || comm != worlds.program || worlds.ordered == worlds.program)
        return result;
    return get(comm, key, value, flag, type);  // attributes that the library has set
}

// They call a function of the program, their first argument, for a handle.
using CopyProxy = int (*)(MPI_Comm_copy_attr_function*, int, int, void*, int, void*, void**, int*);
using DeleteProxy = int (*)(MPI_Comm_delete_attr_function*, int, int, int, void*, void*);

int number_for_program(int handle) noexcept {
    if constexpr (std::is_same_v<MPI_Comm, int>)
        return to_program(handle);
    return handle;
}

struct Copy {
    static constexpr size_t kind = 3;
    template <size_t at>
    static int call(MPI_Comm_copy_attr_function* function, int handle, int key, void* extra, int type,
                    void* value, void** copied, int* flag) {
        return Entrances<CopyProxy, Copy>::template given<at>()(
            Copies::behind(function), number_for_program(handle), key, extra, type, value, copied, flag);
    }
};
struct Delete {
    static constexpr size_t kind = 4;
    template <size_t at>
    static int call(MPI_Comm_delete_attr_function* function, int handle, int key, int type, void* value,
                    void* extra) {
        return Entrances<DeleteProxy, Delete>::template given<at>()(
            Deletions::behind(function), number_for_program(handle), key, type, value, extra);
    }
};

}  // namespace

MPIRIC_EXPORTED int MPII_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag, int type) {
    return get_by_name("MPII_Comm_get_attr", comm, key, value, flag, type);
}

MPIRIC_EXPORTED int MPII_Comm_get_attr_fort(MPI_Comm comm, int key, void* value, int* flag, int type) {
    return get_by_name("MPII_Comm_get_attr_fort", comm, key, value, flag, type);
}

MPIRIC_EXPORTED int MPII_Comm_set_attr(MPI_Comm comm, int key, void* value, int type) {
    return following<Set>("MPII_Comm_set_attr")(to_library(comm), key, value, type);
}

MPIRIC_EXPORTED void MPII_Keyval_set_proxy(int key, CopyProxy copy, DeleteProxy remove) {
    const auto set = following<void (*)(int, CopyProxy, DeleteProxy)>("MPII_Keyval_set_proxy");
    if (worlds.ordered == worlds.program)
        return set(key, copy, remove);
    set(key, Entrances<CopyProxy, Copy>::entrance(copy), Entrances<DeleteProxy, Delete>::entrance(remove));
}

}  // namespace mpiric::order
