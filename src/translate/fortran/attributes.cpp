// Attributes in Fortran: values are integers, of the size of an address or, in MPI-1, of an INTEGER.
// clang-format off

#include "fortran/convert.hpp"

namespace mpiric::translate {

extern "C" {
int C(MPI_Comm_create_keyval)(void*, void*, int*, void*);
int C(MPI_Type_create_keyval)(void*, void*, int*, void*);
int C(MPI_Win_create_keyval)(void*, void*, int*, void*);
void FOR_FORTRAN(Keyval_set_proxy)(int, void* copy, void* remove);
#define ACCESS(type, T)                                                                                       \
    int FOR_FORTRAN(type##_get_attr)(PHandle<T>, int, void*, int*, int);                                            \
    int FOR_FORTRAN(type##_set_attr)(PHandle<T>, int, void*, int);
ACCESS(Comm, Comm)
ACCESS(Type, Datatype)
ACCESS(Win, Win)
#undef ACCESS
}

namespace {

/// Calls the program's function: `Value` is the type of an attribute there, an INTEGER of MPI-1 or of the
/// size of an address.
template <class T, class Value>
int copy(void* function, PHandle<T> from, int keyval, void* extra, AttributeType, void* value, void** result, int* flag) {
    int translated = number<T>(from), rc = 0, is_copied = 0;
    Value state = Value(reinterpret_cast<long>(extra)), given = Value(reinterpret_cast<long>(value)), made = 0;
    reinterpret_cast<void (*)(int*, int*, Value*, Value*, Value*, int*, int*)>(function)(&translated, &keyval, &state, &given, &made, &is_copied, &rc);
    *flag = is_copied & 1;
    *result = reinterpret_cast<void*>(long(made));
    return rc;
}
template <class T, class Value> int remove(void* function, PHandle<T> from, int keyval, AttributeType, void* value, void* extra) {
    int translated = number<T>(from), rc = 0;
    Value state = Value(reinterpret_cast<long>(extra)), given = Value(reinterpret_cast<long>(value));
    reinterpret_cast<void (*)(int*, int*, Value*, Value*, int*)>(function)(&translated, &keyval, &given, &state, &rc);
    return rc;
}

}  // namespace

#define CREATE(name, create, T, Value)                                                                        \
    FORTRAN(name)(void* copy_, void* remove_, int* keyval, const Value* extra, int* ierror) {                 \
        const int rc = C(create)(copy_, remove_, keyval, reinterpret_cast<void*>(long(*extra)));              \
        if (rc == 0)                                                                                          \
            FOR_FORTRAN(Keyval_set_proxy)(*keyval, reinterpret_cast<void*>(&copy<T, Value>), reinterpret_cast<void*>(&remove<T, Value>)); \
        answer(ierror, rc);                                                                                   \
    }
CREATE(MPI_Comm_create_keyval, MPI_Comm_create_keyval, Comm, long)
CREATE(MPI_Type_create_keyval, MPI_Type_create_keyval, Datatype, long)
CREATE(MPI_Win_create_keyval, MPI_Win_create_keyval, Win, long)
CREATE(MPI_Keyval_create, MPI_Comm_create_keyval, Comm, int)
#undef CREATE

#define ACCESS(get, set, type, T, Value, kind)                                                                \
    FORTRAN(get)(const int* from, const int* keyval, Value* value, int* flag, int* ierror) {                  \
        long given = 0;                                                                                       \
        const int rc = FOR_FORTRAN(type##_get_attr)(handle<T>(*from), *keyval, &given, flag, kind);                 \
        if (rc == 0 && *flag)                                                                                 \
            *value = Value(given);                                                                            \
        answer(ierror, rc);                                                                                   \
    }                                                                                                         \
    FORTRAN(set)(const int* to, const int* keyval, const Value* value, int* ierror) {                         \
        answer(ierror, FOR_FORTRAN(type##_set_attr)(handle<T>(*to), *keyval, reinterpret_cast<void*>(long(*value)), kind)); \
    }
ACCESS(MPI_Comm_get_attr, MPI_Comm_set_attr, Comm, Comm, long, attribute_aint)
ACCESS(MPI_Type_get_attr, MPI_Type_set_attr, Type, Datatype, long, attribute_aint)
ACCESS(MPI_Win_get_attr, MPI_Win_set_attr, Win, Win, long, attribute_aint)
ACCESS(MPI_Attr_get, MPI_Attr_put, Comm, Comm, int, attribute_int)
#undef ACCESS

// The predefined callbacks.
#define DUPLICATE(name, Value)                                                                                \
    FORTRAN(name)(int*, int*, Value*, Value* given, Value* made, int* flag, int* ierror) {                    \
        *made = *given;                                                                                       \
        *flag = 1;                                                                                            \
        answer(ierror, 0);                                                                                    \
    }
#define COPY_NOTHING(name, Value)                                                                             \
    FORTRAN(name)(int*, int*, Value*, Value*, Value*, int* flag, int* ierror) {                               \
        *flag = 0;                                                                                            \
        answer(ierror, 0);                                                                                    \
    }
#define DELETE_NOTHING(name, Value)                                                                           \
    FORTRAN(name)(int*, int*, Value*, Value*, int* ierror) { answer(ierror, 0); }
DUPLICATE(MPI_Dup_fn, int)
COPY_NOTHING(MPI_Null_copy_fn, int)
DELETE_NOTHING(MPI_Null_delete_fn, int)
DUPLICATE(MPI_Comm_dup_fn, long)
COPY_NOTHING(MPI_Comm_null_copy_fn, long)
DELETE_NOTHING(MPI_Comm_null_delete_fn, long)
ASM("ALSO DUP_FN dup_fn Dup_fn")
ASM("ALSO NULL_COPY_FN null_copy_fn Null_copy_fn")
ASM("ALSO NULL_DELETE_FN null_delete_fn Null_delete_fn")
#define PREDEFINED(UPPER, lower)                                                                              \
    ASM("ALSO " UPPER "_DUP_FN " lower "_dup_fn Comm_dup_fn")                                                 \
    ASM("ALSO " UPPER "_NULL_COPY_FN " lower "_null_copy_fn Comm_null_copy_fn")                               \
    ASM("ALSO " UPPER "_NULL_DELETE_FN " lower "_null_delete_fn Comm_null_delete_fn")
PREDEFINED("COMM", "comm")
PREDEFINED("TYPE", "type")
PREDEFINED("WIN", "win")
#undef PREDEFINED

}  // namespace mpiric::translate
