// Functions of a Fortran program that MPI calls: operations, error handlers, generalized requests, data
// representations.
// clang-format off

#include "fortran/convert.hpp"

#include "closures.hpp"

namespace mpiric::translate {

extern "C" {
int C(MPI_Op_create)(void*, int, POp*);
int C(MPI_Comm_create_errhandler)(void*, PErrhandler*);
int C(MPI_Win_create_errhandler)(void*, PErrhandler*);
int C(MPI_File_create_errhandler)(void*, PErrhandler*);
int C(MPI_Session_create_errhandler)(void*, PErrhandler*);
int C(MPI_Grequest_start)(void*, void*, void*, void*, PRequest*);
int C(MPI_Register_datarep)(const char*, void*, void*, void*, void*);
[[gnu::visibility("default")]] void mpi_conversion_fn_null_();  // the program's name of it
}
ASM("ALSO CONVERSION_FN_NULL conversion_fn_null Conversion_fn_null")
FORTRAN(MPI_Conversion_fn_null)() {}

namespace {

#define HANDLERS(type)                                                                                                    \
    extern "C" [[gnu::used]] void mpiric_fortran_handle_##type(PHandle<type>* where, int* code, void (*function)(int*, int*)) { \
        int translated = number<type>(*where);                                                                            \
        function(&translated, code);                                                                                      \
    }                                                                                                                     \
    MPIRIC_CLOSURES(handlers_##type, mpiric_fortran_handle_##type, "rdx");

#if MPIRIC_IS(MPIRIC_PROGRAM) == 2
extern "C" [[gnu::used]] void mpiric_fortran_operate(void* from, void* into, int* count, PDatatype* type, void (*function)(void*, void*, int*, int*)) {
    int translated = number<Datatype>(*type);
    function(from, into, count, &translated);
}
MPIRIC_CLOSURES(operations, mpiric_fortran_operate, "r8");
void* in_operation(void* function) { return operations.entrance(function); }

#define HANDLER(type)                                                                                                     \
    HANDLERS(type)                                                                                                        \
    void* in_handler_##type(void* function) { return handlers_##type.entrance(function); }
#else
void* in_operation(void* function) { return function; }  // the handles are Fortran's own
#define HANDLER(type) void* in_handler_##type(void* function) { return function; }
#endif
HANDLER(Comm)
HANDLER(Win)
HANDLER(Session)
#undef HANDLER
HANDLERS(File)
#undef HANDLERS

}  // namespace

FORTRAN(MPI_Op_create)(void* function, const int* commutes, int* op, int* ierror) {
    NewNumber<Op> op_(op);
    const int rc = C(MPI_Op_create)(in_operation(function), *commutes & 1, op_.pointer());
    op_.done(rc);
    answer(ierror, rc);
}
#define CREATE_HANDLER(name, create, entrance)                                                                \
    FORTRAN(name)(void* function, int* handler, int* ierror) {                                                \
        NewNumber<Errhandler> handler_(handler);                                                              \
        const int rc = C(create)(entrance(function), handler_.pointer());                                     \
        handler_.done(rc);                                                                                    \
        answer(ierror, rc);                                                                                   \
    }
CREATE_HANDLER(MPI_Comm_create_errhandler, MPI_Comm_create_errhandler, in_handler_Comm)
CREATE_HANDLER(MPI_Errhandler_create, MPI_Comm_create_errhandler, in_handler_Comm)
CREATE_HANDLER(MPI_Win_create_errhandler, MPI_Win_create_errhandler, in_handler_Win)
CREATE_HANDLER(MPI_File_create_errhandler, MPI_File_create_errhandler, handlers_File.entrance)
CREATE_HANDLER(MPI_Session_create_errhandler, MPI_Session_create_errhandler, in_handler_Session)
#undef CREATE_HANDLER

namespace {

struct Generalized {
    void (*query)(long*, PStatus*, int*);
    void (*free)(long*, int*);
    void (*cancel)(long*, int*, int*);
    long* extra;  // the program's own variable: libraries hand on its address
};
int query(void* extra, PStatus* status) {
    auto& request = *static_cast<Generalized*>(extra);
    int rc = 0;
    request.query(request.extra, status, &rc);
    return rc;
}
int free_request(void* extra) {
    auto* request = static_cast<Generalized*>(extra);
    int rc = 0;
    request->free(request->extra, &rc);
    delete request;
    return rc;
}
int cancel(void* extra, int is_complete) {
    auto& request = *static_cast<Generalized*>(extra);
    int rc = 0;
    request.cancel(request.extra, &is_complete, &rc);
    return rc;
}

struct Representation {
    void (*read)(void*, int*, int*, void*, long long*, long*, int*);
    void (*write)(void*, int*, int*, void*, long long*, long*, int*);
    void (*extent)(int*, long*, long*, int*);
    long* extra;
};
template <auto way> int convert(void* buffer, PDatatype type, int count, void* file, long long position, void* extra) {
    auto& representation = *static_cast<Representation*>(extra);
    int translated = number<Datatype>(type), rc = 0;
    (representation.*way)(buffer, &translated, &count, file, &position, representation.extra, &rc);
    return rc;
}
int extent(PDatatype type, long* bytes, void* extra) {
    auto& representation = *static_cast<Representation*>(extra);
    int translated = number<Datatype>(type), rc = 0;
    representation.extent(&translated, bytes, representation.extra, &rc);
    return rc;
}
template <class Function> bool is_given(Function* function) {
    const auto given = reinterpret_cast<void*>(function);
    return given && given != reinterpret_cast<void*>(&mpi_conversion_fn_null_);
}

}  // namespace

FORTRAN(MPI_Grequest_start)(decltype(Generalized::query) query_, decltype(Generalized::free) free_, decltype(Generalized::cancel) cancel_,
                            long* extra, int* request, int* ierror) {
    NewNumber<Request> request_(request);
    auto* generalized = new Generalized{query_, free_, cancel_, extra};
    const int rc = C(MPI_Grequest_start)(reinterpret_cast<void*>(&query), reinterpret_cast<void*>(&free_request),
                                         reinterpret_cast<void*>(&cancel), generalized, request_.pointer());
    if (rc != 0)
        delete generalized;
    request_.done(rc);
    answer(ierror, rc);
}
FORTRAN(MPI_Register_datarep)(const char* name, decltype(Representation::read) read, decltype(Representation::write) write,
                              decltype(Representation::extent) extent_, long* extra, int* ierror, int name_length) {
    const String name_(name, name_length);
    auto* kept_for_good = new Representation{read, write, extent_, extra};
    answer(ierror, C(MPI_Register_datarep)(name_.pointer(),
                                           is_given(read) ? reinterpret_cast<void*>(&convert<&Representation::read>) : nullptr,
                                           is_given(write) ? reinterpret_cast<void*>(&convert<&Representation::write>) : nullptr,
                                           reinterpret_cast<void*>(&extent), kept_for_good));
}

}  // namespace mpiric::translate
