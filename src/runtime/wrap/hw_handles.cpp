// Functions that give a handle back. The library may hand the same value out again at once, to another thread
// even, so what is known of it is forgotten before the call, at any depth, recorded or not.
#include "files/files.hpp"
#include "record/receives.hpp"
#include "world/requests.hpp"
#include "wrap/intercept.hpp"

namespace mpiric::wrap {
namespace {

void forget_comm(MPI_Comm* comm) noexcept {
    if (comm && (runtime.begun || armed.stage != Stage::off))
        world::forget(*comm);
}

void forget_window(MPI_Win* window) noexcept {
    if (runtime.begun && window)
        world::forget_window(*window);
}

void forget_type(MPI_Datatype*) noexcept { world::invalidate_caches(); }

void forget_request(MPI_Request* request) noexcept {
    if (!request)
        return;
    if (world::requests_watched())
        world::requests.watched.forgotten(*request);
    if (runtime.begun || armed.stage != Stage::off) {
        world::forget_request(*request);
        record::receive_forgotten(*request);
    }
}

void forget_file(MPI_File* file) noexcept {
    if (runtime.begun && file)
        files::forget_file(*file);
}

template <Function function, class Handle>
[[gnu::always_inline]] inline int gives_back(void (*forget)(Handle*) noexcept, Handle* handle) {
    forget(handle);
    return intercept<function, Timing::always, int (*)(Handle*)>([&](auto* next) { return next(handle); },
                                                                 [](auto&) {});
}

}  // namespace

extern "C" int w_MPI_Comm_free(MPI_Comm* comm) {
    return gives_back<Function::MPI_Comm_free>(forget_comm, comm);
}
extern "C" int w_MPI_Comm_disconnect(MPI_Comm* comm) {
    return gives_back<Function::MPI_Comm_disconnect>(forget_comm, comm);
}
extern "C" int w_MPI_Win_free(MPI_Win* win) { return gives_back<Function::MPI_Win_free>(forget_window, win); }
extern "C" int w_MPI_Type_free(MPI_Datatype* datatype) {
    return gives_back<Function::MPI_Type_free>(forget_type, datatype);
}
extern "C" int w_MPI_Request_free(MPI_Request* request) {
    return gives_back<Function::MPI_Request_free>(forget_request, request);
}
extern "C" int w_MPI_File_close(MPI_File* fh) {
    return gives_back<Function::MPI_File_close>(forget_file, fh);
}

}  // namespace mpiric::wrap
