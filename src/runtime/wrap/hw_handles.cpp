// Functions that give a handle back. The library may hand the same value out again at once, to another thread
// even, so what is known of it is forgotten before the call, at any depth, recorded or not.
#include "files/open_files.hpp"
#include "record/receives.hpp"
#include "world/persistent_requests.hpp"
#include "wrap/intercept.hpp"

namespace mpiric::wrap {
namespace {

void forget_handle(MPI_Comm* comm) noexcept {
    if (!comm)
        return;
    if (runtime.begun || armed.stage != Stage::off)
        world::forget(*comm);
}

void forget_window(MPI_Win* window) noexcept {
    if (runtime.begun && window)
        world::forget_window(*window);
}

void forget_type(MPI_Datatype*) noexcept { world::invalidate_caches(); }

void forget_started(MPI_Request* request) noexcept {
    if (!request)
        return;
    if (world::requests_watched())
        world::watched_requests.forgotten(*request);
    if (runtime.begun || armed.stage != Stage::off) {
        world::forget_request(*request);
        record::receive_forgotten(*request);
    }
}

void forget_file(MPI_File* file) noexcept {
    if (runtime.begun && file)
        files::forget_file(*file);
}

template <Function function, class Handle> [[gnu::always_inline]] inline int gives_back(Handle* handle) {
    return intercept<function, Timing::always, int (*)(Handle*)>([&](auto* next) { return next(handle); },
                                                                 [](auto&) {});
}

}  // namespace

extern "C" int w_MPI_Comm_free(MPI_Comm* comm) {
    forget_handle(comm);
    return gives_back<Function::MPI_Comm_free>(comm);
}
extern "C" int p_MPI_Comm_free(MPI_Comm* comm) {
    forget_handle(comm);
    return by_profiling_name<Function::MPI_Comm_free>(&w_MPI_Comm_free, comm);
}

extern "C" int w_MPI_Comm_disconnect(MPI_Comm* comm) {
    forget_handle(comm);
    return gives_back<Function::MPI_Comm_disconnect>(comm);
}
extern "C" int p_MPI_Comm_disconnect(MPI_Comm* comm) {
    forget_handle(comm);
    return by_profiling_name<Function::MPI_Comm_disconnect>(&w_MPI_Comm_disconnect, comm);
}

extern "C" int w_MPI_Win_free(MPI_Win* win) {
    forget_window(win);
    return gives_back<Function::MPI_Win_free>(win);
}
extern "C" int p_MPI_Win_free(MPI_Win* win) {
    forget_window(win);
    return by_profiling_name<Function::MPI_Win_free>(&w_MPI_Win_free, win);
}

extern "C" int w_MPI_Type_free(MPI_Datatype* datatype) {
    forget_type(datatype);
    return gives_back<Function::MPI_Type_free>(datatype);
}
extern "C" int p_MPI_Type_free(MPI_Datatype* datatype) {
    forget_type(datatype);
    return by_profiling_name<Function::MPI_Type_free>(&w_MPI_Type_free, datatype);
}

extern "C" int w_MPI_Request_free(MPI_Request* request) {
    forget_started(request);
    return gives_back<Function::MPI_Request_free>(request);
}
extern "C" int p_MPI_Request_free(MPI_Request* request) {
    forget_started(request);
    return by_profiling_name<Function::MPI_Request_free>(&w_MPI_Request_free, request);
}

extern "C" int w_MPI_File_close(MPI_File* fh) {
    forget_file(fh);
    return gives_back<Function::MPI_File_close>(fh);
}
extern "C" int p_MPI_File_close(MPI_File* fh) {
    forget_file(fh);
    return by_profiling_name<Function::MPI_File_close>(&w_MPI_File_close, fh);
}

}  // namespace mpiric::wrap
