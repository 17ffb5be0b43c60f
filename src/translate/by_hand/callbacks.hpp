// Functions of the program that the library calls: operations, error handlers, requests, representations.
#pragma once

#include "arguments.hpp"
#include "closures.hpp"

namespace mpiric::translate {
namespace {

// The counts of the large forms are passed on: their type is the library's business and the program's.
using UserFunction = void(void*, void*, void*, PDatatype*);
template <class T> using UserHandler = void(PHandle<T>*, int*, ...);

extern "C" [[gnu::used]] void mpiric_operate(void* from, void* into, void* count, LDatatype* type,
                                             UserFunction* function) {
    PDatatype translated = out<Datatype>(*type);
    const Outside outside;
    function(from, into, count, &translated);
}
MPIRIC_CLOSURES(operations, mpiric_operate, "r8");

#define HANDLER(type)                                                                                        \
    extern "C" [[gnu::used]] void mpiric_handle_##type(LHandle<type>* where, int* code,                      \
                                                       UserHandler<type>* function) {                        \
        PHandle<type> translated = out<type>(*where);                                                        \
        int translated_code = to_program_error(*code);                                                       \
        const Outside outside;                                                                               \
        function(&translated, &translated_code);                                                             \
    }                                                                                                        \
    MPIRIC_CLOSURES(handlers_##type, mpiric_handle_##type, "rdx");                                           \
    Closures& handlers_of(const type*) { return handlers_##type; }
HANDLER(Comm)
HANDLER(Win)
HANDLER(File)
HANDLER(Session)
#undef HANDLER

template <Function function> int create_operation(UserFunction* called, int commutes, POp* op) {
    const Inside inside;
    NewHandle<Op> op_(op);
    void* entrance = operations.entrance(reinterpret_cast<void*>(called));
    const int rc = original<function, int(void*, int, LOp*)>()(entrance, commutes, op_.pointer());
    op_.done();
    return to_program_error(rc);
}
constexpr auto t_MPI_Op_create = &create_operation<F_MPI_Op_create>;
constexpr auto t_MPI_Op_create_c = &create_operation<F_MPI_Op_create_c>;

template <Function function, class T> int create_handler(UserHandler<T>* called, PErrhandler* handler) {
    const Inside inside;
    NewHandle<Errhandler> handler_(handler);
    Closures& handlers = handlers_of(static_cast<const T*>(nullptr));
    void* entrance = handlers.entrance(reinterpret_cast<void*>(called));
    const int rc = original<function, int(void*, LErrhandler*)>()(entrance, handler_.pointer());
    handler_.done();
    return to_program_error(rc);
}
constexpr auto t_MPI_Comm_create_errhandler = &create_handler<F_MPI_Comm_create_errhandler, Comm>;
constexpr auto t_MPI_Errhandler_create = &create_handler<F_MPI_Errhandler_create, Comm>;
constexpr auto t_MPI_Win_create_errhandler = &create_handler<F_MPI_Win_create_errhandler, Win>;
constexpr auto t_MPI_File_create_errhandler = &create_handler<F_MPI_File_create_errhandler, File>;
constexpr auto t_MPI_Session_create_errhandler = &create_handler<F_MPI_Session_create_errhandler, Session>;

struct Generalized {
    int (*query)(void*, PStatus*);
    int (*free)(void*);
    int (*cancel)(void*, int);
    void* extra;
    bool is_fortran = false;  // its functions take the addresses of their arguments and of their result
};
// The latest request that this thread has started.
constinit thread_local Generalized* last_generalized = nullptr;

int query(void* extra, LStatus* status) {
    const auto& request = *static_cast<Generalized*>(extra);
    PStatus translated{};
    int rc = 0;
    {
        const Outside outside;
        if (request.is_fortran)
            reinterpret_cast<void (*)(void*, PStatus*, int*)>(request.query)(request.extra, &translated, &rc);
        else
            rc = request.query(request.extra, &translated);
    }
    const int error = status->MPI_ERROR;
    copy_given(*status, translated);
    status->MPI_ERROR = error;
    return to_library_error(rc);
}
int free(void* extra) {
    auto* request = static_cast<Generalized*>(extra);
    int rc = 0;
    {
        const Outside outside;
        if (request->is_fortran)
            reinterpret_cast<void (*)(void*, int*)>(request->free)(request->extra, &rc);
        else
            rc = request->free(request->extra);
    }
    delete request;
    return to_library_error(rc);
}
int cancel(void* extra, int is_complete) {
    const auto& request = *static_cast<Generalized*>(extra);
    const Outside outside;
    int rc = 0;
    if (request.is_fortran)
        reinterpret_cast<void (*)(void*, int*, int*)>(request.cancel)(request.extra, &is_complete, &rc);
    else
        rc = request.cancel(request.extra, is_complete);
    return to_library_error(rc);
}

struct Representation {
    int (*read)(void*, PDatatype, long long, void*, long long, void*);
    int (*write)(void*, PDatatype, long long, void*, long long, void*);
    int (*extent)(PDatatype, long*, void*);
    void* extra;
};

/// Reads or writes; an int goes where a count of the large form would: in the same register.
template <class Count, auto way>
int convert(void* buffer, LDatatype type, Count count, void* file, long long position, void* extra) {
    const auto& representation = *static_cast<Representation*>(extra);
    const PDatatype translated = out<Datatype>(type);
    const Outside outside;
    return to_library_error(
        (representation.*way)(buffer, translated, count, file, position, representation.extra));
}
int extent(LDatatype type, long* bytes, void* extra) {
    const auto& representation = *static_cast<Representation*>(extra);
    const PDatatype translated = out<Datatype>(type);
    const Outside outside;
    return to_library_error(representation.extent(translated, bytes, representation.extra));
}

}  // namespace

static int t_MPI_Grequest_start(int (*query_)(void*, PStatus*), int (*free_)(void*),
                                int (*cancel_)(void*, int), void* extra, PRequest* request) {
    const Inside inside;
    NewHandle<Request> request_(request);
    auto* generalized = new Generalized{query_, free_, cancel_, extra};
    const int rc = original<F_MPI_Grequest_start, int(void*, void*, void*, void*, LRequest*)>()(
        reinterpret_cast<void*>(&query), reinterpret_cast<void*>(&free), reinterpret_cast<void*>(&cancel),
        generalized, request_.pointer());
    last_generalized = rc == 0 ? generalized : nullptr;
    if (rc != 0)
        delete generalized;
    request_.done();
    return to_program_error(rc);
}

template <Function function, class Count>
static int register_representation(const char* datarep, decltype(Representation::read) read,
                                   decltype(Representation::write) write,
                                   decltype(Representation::extent) extent_, void* extra) {
    const Inside inside;
    auto* kept_for_good = new Representation{read, write, extent_, extra};
    return to_program_error(original<function, int(const char*, void*, void*, void*, void*)>()(
        datarep, read ? reinterpret_cast<void*>(&convert<Count, &Representation::read>) : nullptr,
        write ? reinterpret_cast<void*>(&convert<Count, &Representation::write>) : nullptr,
        reinterpret_cast<void*>(&extent), kept_for_good));
}
constexpr auto t_MPI_Register_datarep = &register_representation<F_MPI_Register_datarep, int>;
constexpr auto t_MPI_Register_datarep_c = &register_representation<F_MPI_Register_datarep_c, long long>;

}  // namespace mpiric::translate
