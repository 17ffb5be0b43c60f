#include "abi_constants.hpp"

#include "abi_effects.hpp"

namespace {

#define IS(name, ...)                                                                                        \
    Check {                                                                                                  \
        #name, [] { return bool(__VA_ARGS__); }                                                              \
    }
#define SIZE(type, bytes) IS(type, has_size(type, bytes))
#define TOINT(kind, name, number)                                                                            \
    IS(name, MPI_##kind##_toint(name) == (number) && MPI_##kind##_fromint(number) == (name))

constexpr auto checks = std::to_array<Check>({
    IS(MPI_SEEK_SET, seek_leads_to(MPI_SEEK_SET, 1)),
    IS(MPI_SEEK_CUR, seek_leads_to(MPI_SEEK_CUR, 5)),
    IS(MPI_SEEK_END, seek_leads_to(MPI_SEEK_END, 9)),
    IS(MPI_ERRORS_RETURN,
       error_class([](MPI_Comm comm) { return MPI_Send(nullptr, 0, MPI_INT, 77, 0, comm); }) == MPI_ERR_RANK),
    {"MPI_ERRORS_ABORT", [] { return ends_by(MPI_ERRORS_ABORT); }, true},
    {"MPI_ERRORS_ARE_FATAL", [] { return ends_by(MPI_ERRORS_ARE_FATAL); }, true},
    IS(MPI_TAG_UB, attribute(MPI_TAG_UB) >= 32767),
    IS(MPI_WTIME_IS_GLOBAL, attribute(MPI_WTIME_IS_GLOBAL) >= 0 && attribute(MPI_WTIME_IS_GLOBAL) <= 1),
    IS(MPI_LASTUSEDCODE, has_grown(MPI_LASTUSEDCODE)),
    {"MPI_UNIVERSE_SIZE", [] { return attribute(MPI_UNIVERSE_SIZE) != 0 && !has_grown(MPI_UNIVERSE_SIZE); },
     false, true},
    {"MPI_APPNUM", [] { return attribute(MPI_APPNUM) == 0 && !has_grown(MPI_APPNUM); }, false, true},
    IS(MPI_ANY_SOURCE, receives(MPI_ANY_SOURCE, 3)),
    IS(MPI_ANY_TAG, receives(0, MPI_ANY_TAG)),
    IS(MPI_PROC_NULL, MPI_Send(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, own_comm()) == MPI_SUCCESS),
    IS(MPI_Status, status_fits()),
    IS(MPI_IN_PLACE,
       [] {
           int value = 6;
           MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, own_comm());
           return value == 6;
       }()),
    IS(MPI_UNDEFINED,
       [] {
           MPI_Comm comm = MPI_COMM_WORLD;
           return MPI_Comm_split(own_comm(), MPI_UNDEFINED, 0, &comm) == MPI_SUCCESS && comm == MPI_COMM_NULL;
       }()),
    IS(MPI_COMM_TYPE_SHARED,
       [] {
           MPI_Comm comm = MPI_COMM_NULL;
           return MPI_Comm_split_type(own_comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm) ==
                      MPI_SUCCESS &&
                  comm != MPI_COMM_NULL;
       }()),
    IS(MPI_IDENT, compared(MPI_COMM_SELF, MPI_COMM_SELF) == MPI_IDENT),
    IS(MPI_CONGRUENT, compared(MPI_COMM_SELF, own_comm()) == MPI_CONGRUENT),
    IS(MPI_CART,
       [] {
           const int one = 1, no = 0;
           MPI_Comm comm = MPI_COMM_NULL;
           MPI_Cart_create(own_comm(), 1, &one, &no, 0, &comm);
           return topology(comm) == MPI_CART;
       }()),
    IS(MPI_GRAPH,
       [] {
           const int zero = 0;
           MPI_Comm comm = MPI_COMM_NULL;
           MPI_Graph_create(own_comm(), 1, &zero, &zero, 0, &comm);
           return topology(comm) == MPI_GRAPH;
       }()),
    IS(MPI_DIST_GRAPH,
       [] {
           const int zero = 0;
           MPI_Comm comm = MPI_COMM_NULL;
           MPI_Dist_graph_create_adjacent(own_comm(), 1, &zero, MPI_UNWEIGHTED, 1, &zero, MPI_UNWEIGHTED,
                                          MPI_INFO_NULL, 0, &comm);
           return topology(comm) == MPI_DIST_GRAPH;
       }()),
    IS(MPI_ORDER_C, subarray_begins(MPI_ORDER_C) == 12),
    IS(MPI_ORDER_FORTRAN, subarray_begins(MPI_ORDER_FORTRAN) == 4),
    IS(MPI_COMBINER_NAMED, combiner_of(MPI_INT) == MPI_COMBINER_NAMED),
    IS(MPI_COMBINER_CONTIGUOUS,
       [] {
           MPI_Datatype type = MPI_DATATYPE_NULL;
           MPI_Type_contiguous(3, MPI_INT, &type);
           return combiner_of(type) == MPI_COMBINER_CONTIGUOUS;
       }()),
    IS(MPI_COMBINER_VECTOR,
       [] {
           MPI_Datatype type = MPI_DATATYPE_NULL;
           MPI_Type_vector(3, 1, 2, MPI_INT, &type);
           return combiner_of(type) == MPI_COMBINER_VECTOR;
       }()),
    IS(MPI_LOCK_EXCLUSIVE, locks(MPI_LOCK_EXCLUSIVE)),
    IS(MPI_LOCK_SHARED, locks(MPI_LOCK_SHARED)),
    IS(MPI_MODE_RDONLY, has_mode(MPI_MODE_RDONLY, false, true)),
    IS(MPI_MODE_WRONLY, has_mode(MPI_MODE_WRONLY, true, false)),
    IS(MPI_MODE_RDWR, has_mode(MPI_MODE_RDWR, true, true)),
    IS(MPI_MODE_CREATE, opens(MPI_MODE_CREATE, true)),
    IS(MPI_MODE_EXCL, opens(MPI_MODE_CREATE | MPI_MODE_EXCL, false)),
    IS(MPI_MODE_APPEND, appends()),
    IS(MPI_MODE_DELETE_ON_CLOSE, is_gone_when_closed()),
    IS(MPI_WIN_BASE, window_attribute(MPI_WIN_BASE) == 0),
    IS(MPI_WIN_SIZE, window_attribute(MPI_WIN_SIZE) == 3 * sizeof(int)),
    IS(MPI_WIN_DISP_UNIT, window_attribute(MPI_WIN_DISP_UNIT) == sizeof(int)),
    IS(MPI_WIN_CREATE_FLAVOR, window_attribute(MPI_WIN_CREATE_FLAVOR) == MPI_WIN_FLAVOR_ALLOCATE),
    IS(MPI_WIN_MODEL, window_attribute(MPI_WIN_MODEL) == MPI_WIN_UNIFIED ||
                          window_attribute(MPI_WIN_MODEL) == MPI_WIN_SEPARATE),
    IS(MPI_TYPECLASS_INTEGER, matches(MPI_TYPECLASS_INTEGER, 2)),
    IS(MPI_TYPECLASS_REAL, matches(MPI_TYPECLASS_REAL, 8)),
    IS(MPI_TYPECLASS_COMPLEX, matches(MPI_TYPECLASS_COMPLEX, 16)),
    IS(MPI_MAXLOC, index_of_extreme(MPI_MAXLOC) == 2),
    IS(MPI_MINLOC, index_of_extreme(MPI_MINLOC) == 1),
    IS(MPI_SUM, reduced(MPI_SUM, MPI_INT, 12, 10) == 22),
    IS(MPI_PROD, reduced(MPI_PROD, MPI_INT, 12, 10) == 120),
    IS(MPI_MAX, reduced(MPI_MAX, MPI_INT, 12, 10) == 12),
    IS(MPI_MIN, reduced(MPI_MIN, MPI_INT, 12, 10) == 10),
    IS(MPI_LAND, reduced(MPI_LAND, MPI_INT, 12, 0) == 0),
    IS(MPI_LOR, reduced(MPI_LOR, MPI_INT, 12, 0) == 1),
    IS(MPI_LXOR, reduced(MPI_LXOR, MPI_INT, 12, 10) == 0),
    IS(MPI_BAND, reduced(MPI_BAND, MPI_INT, 12, 10) == 8),
    IS(MPI_BOR, reduced(MPI_BOR, MPI_INT, 12, 10) == 14),
    IS(MPI_BXOR, reduced(MPI_BXOR, MPI_INT, 12, 10) == 6),
    SIZE(MPI_BYTE, 1),
    SIZE(MPI_CHAR, 1),
    SIZE(MPI_SHORT, 2),
    SIZE(MPI_INT, 4),
    SIZE(MPI_LONG, sizeof(long)),
    SIZE(MPI_LONG_LONG, 8),
    SIZE(MPI_UNSIGNED_CHAR, 1),
    SIZE(MPI_UNSIGNED, 4),
    SIZE(MPI_UNSIGNED_LONG, sizeof(long)),
    SIZE(MPI_FLOAT, 4),
    SIZE(MPI_DOUBLE, 8),
    SIZE(MPI_LONG_DOUBLE, sizeof(long double)),
    SIZE(MPI_INT8_T, 1),
    SIZE(MPI_INT16_T, 2),
    SIZE(MPI_INT32_T, 4),
    SIZE(MPI_INT64_T, 8),
    SIZE(MPI_AINT, sizeof(MPI_Aint)),
    SIZE(MPI_OFFSET, sizeof(MPI_Offset)),
    SIZE(MPI_COUNT, sizeof(MPI_Count)),
    SIZE(MPI_C_FLOAT_COMPLEX, 8),
    SIZE(MPI_C_DOUBLE_COMPLEX, 16),
    SIZE(MPI_FLOAT_INT, 8),
    SIZE(MPI_DOUBLE_INT, 12),
    SIZE(MPI_2INT, 8),
    TOINT(Comm, MPI_COMM_WORLD, 257),
    IS(MPI_ERR_COUNT, error_class([](MPI_Comm comm) { return MPI_Send(nullptr, -1, MPI_INT, 0, 0, comm); }) ==
                          MPI_ERR_COUNT),
    IS(MPI_ERR_TAG,
       error_class([](MPI_Comm comm) { return MPI_Send(nullptr, 0, MPI_INT, 0, -77, comm); }) == MPI_ERR_TAG),
    IS(MPI_ERR_ROOT,
       error_class([](MPI_Comm comm) { return MPI_Bcast(nullptr, 0, MPI_INT, 77, comm); }) == MPI_ERR_ROOT),
});

}  // namespace

std::span<const Check> abi_constants() { return checks; }
