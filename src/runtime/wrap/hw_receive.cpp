// MPI_Recv: how many bytes came stands in the status only, so one is given where the program ignores it.
#include "wrap/intercept.hpp"

namespace mpiric::wrap {
namespace {

/// Bytes of a message that has come; asked as bytes, so that a type map does not matter.
uint64_t bytes_in(MPI_Status* status) noexcept {
    int bytes = 0;
    if (world::library.Get_count(status, world::handles.byte, &bytes) != MPI_SUCCESS || bytes < 0)
        return 0;
    return uint64_t(bytes);
}

}  // namespace

extern "C" int w_MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Status* status) {
    posts(source, tag, comm);
    MPI_Status own;
    MPI_Status* here = status == MPI_STATUS_IGNORE ? &own : status;
    return intercept<Function::MPI_Recv, Policy::always, decltype(&w_MPI_Recv)>(
        [&](auto* next) { return next(buf, count, datatype, source, tag, substitute(comm), here); },
        [&](Call& call) {
            call.on(comm);
            call.bytes = source == MPI_PROC_NULL ? 0 : bytes_in(here);
        });
}
extern "C" int p_MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Status* status) {
    return by_profiling_name<Function::MPI_Recv>(&w_MPI_Recv, buf, count, datatype, source, tag, comm,
                                                 status);
}

#if MPIRIC_HAS_MPI_Recv_c
extern "C" int w_MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                            MPI_Comm comm, MPI_Status* status) {
    posts(source, tag, comm);
    MPI_Status own;
    MPI_Status* here = status == MPI_STATUS_IGNORE ? &own : status;
    return intercept<Function::MPI_Recv_c, Policy::always, decltype(&w_MPI_Recv_c)>(
        [&](auto* next) { return next(buf, count, datatype, source, tag, substitute(comm), here); },
        [&](Call& call) {
            call.on(comm);
            call.bytes = source == MPI_PROC_NULL ? 0 : bytes_in(here);
        });
}
extern "C" int p_MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                            MPI_Comm comm, MPI_Status* status) {
    return by_profiling_name<Function::MPI_Recv_c>(&w_MPI_Recv_c, buf, count, datatype, source, tag, comm,
                                                   status);
}
#endif

}  // namespace mpiric::wrap
