// The interface of a Fortran library to the C library under it.
// clang-format off

#include "arguments.hpp"
#include "fortran/shared.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string>
#include <vector>

namespace mpiric::translate {
namespace {

/// The keyval of C: MPICH's predefined ones are greater by one in Fortran.
int c_keyval(int keyval) {
    if constexpr (program::fortran_keyval_offset != 0)
        for (const int predefined : program::keyval_values)
            if (predefined != absent && predefined != program::keyval_values[0] && predefined + program::fortran_keyval_offset == keyval)
                return predefined;
    return keyval;
}

/// The integer that Fortran has for the value of a predefined attribute, which C is given the address of.
bool is_predefined_integer(int keyval, void* value, long& integer) {
    // In the order of the spec: KEYVAL_INVALID TAG_UB HOST IO WTIME_IS_GLOBAL UNIVERSE_SIZE LASTUSEDCODE APPNUM WIN_BASE …
    const auto& keyvals = program::keyval_values;
    for (std::size_t at = 1; at < std::size(keyvals); ++at)
        if (keyvals[at] != absent && keyvals[at] == keyval) {
            constexpr std::size_t base = 8, size = 9;
            integer = at == base ? reinterpret_cast<long>(value) : at == size ? *static_cast<long*>(value) : *static_cast<int*>(value);
            return true;
        }
    return false;
}

template <auto get, class Handle> int get_for_fortran(Handle from, int keyval, void* value, int* flag, int type) {
    mpiric_open();
    void* found = nullptr;
    const int own = c_keyval(keyval), rc = get(from, own, static_cast<void*>(&found), flag);
    if (rc != 0 || !*flag)
        return rc;
    long integer = reinterpret_cast<long>(found);
    if (type != attribute_pointer && !is_predefined_integer(own, found, integer))
        if (const FortranValue* fortran = fortran_value_at(found))
            integer = fortran->value;
    *static_cast<long*>(value) = integer;
    return 0;
}

/// Another definition of a function of this library. MPICH calls these functions itself, and under two
/// stand-ins the dynamic linker leads it to the upper one, which is for the program. Null when there is none.
void* other_definition(const char* name) {
    std::vector<std::string> paths;
    dl_iterate_phdr([](dl_phdr_info* object, std::size_t, void* result) {
        static_cast<std::vector<std::string>*>(result)->emplace_back(object->dlpi_name);
        return 0;
    }, &paths);
    Dl_info own, other;
    dladdr(reinterpret_cast<void*>(&other_definition), &own);
    for (const std::string& path : paths) {
        void* object = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        void* found = object ? dlsym(object, name) : nullptr;
        if (found && dladdr(found, &other) && other.dli_fbase != own.dli_fbase)
            return found;
    }
    return nullptr;
}

}  // namespace

#define ACCESS(type, T, get, set)                                                                             \
    extern "C" [[gnu::visibility("default")]] int FOR_FORTRAN(type##_get_attr)(PHandle<T> from, int keyval, void* value, int* flag, int kind) { \
        if (mpiric_depth > 0) {                                                                               \
            static void* const other = other_definition("MPII_" #type "_get_attr");                           \
            if (other)                                                                                        \
                return reinterpret_cast<int (*)(PHandle<T>, int, void*, int*, int)>(other)(from, keyval, value, flag, kind); \
        }                                                                                                     \
        return get_for_fortran<+t_##get>(from, keyval, value, flag, kind);                                    \
    }                                                                                                         \
    extern "C" [[gnu::visibility("default")]] int FOR_FORTRAN(type##_set_attr)(PHandle<T> to, int keyval, void* value, int kind) { \
        if (mpiric_depth > 0) {                                                                               \
            static void* const other = other_definition("MPII_" #type "_set_attr");                           \
            if (other)                                                                                        \
                return reinterpret_cast<int (*)(PHandle<T>, int, void*, int)>(other)(to, keyval, value, kind); \
        }                                                                                                     \
        mpiric_open();                                                                                        \
        void* kept_value = new_value(AttributeType(kind), reinterpret_cast<long>(value));                     \
        const int rc = t_##set(to, keyval, kept_value);                                                       \
        if (rc != 0)                                                                                          \
            delete_value(fortran_value(kept_value));                                                          \
        return rc;                                                                                            \
    }
ACCESS(Comm, Comm, MPI_Comm_get_attr, MPI_Comm_set_attr)
ACCESS(Type, Datatype, MPI_Type_get_attr, MPI_Type_set_attr)
ACCESS(Win, Win, MPI_Win_get_attr, MPI_Win_set_attr)
#undef ACCESS

/// Of the keyval that this thread has made just before. All kinds of handles are kept alike.
extern "C" [[gnu::visibility("default")]] void FOR_FORTRAN(Keyval_set_proxy)(int, CopyProxy<PComm> copy_proxy, DeleteProxy<PComm> remove_proxy) {
    if (auto* made = static_cast<Callbacks<Comm>*>(last_callbacks)) {
        made->copy_proxy = copy_proxy;
        made->remove_proxy = remove_proxy;
    }
}
/// Of the request that this thread has started just before.
extern "C" [[gnu::visibility("default")]] void FOR_FORTRAN(Grequest_set_lang_f77)(PRequest) {
    if (last_generalized)
        last_generalized->is_fortran = true;
}

}  // namespace mpiric::translate

#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
// The common blocks of Fortran's sentinels, where no executable has them.
extern "C" {
#define COMMON(name) [[gnu::visibility("default")]] alignas(16) char name[4];
#define COMMONS(upper, lower)                                                                                 \
    COMMON(MPI_FORTRAN_##upper) COMMON(mpi_fortran_##lower) COMMON(mpi_fortran_##lower##_) COMMON(mpi_fortran_##lower##__)
COMMON_BLOCKS(COMMONS)
}
#undef COMMON
#undef COMMONS
#endif
