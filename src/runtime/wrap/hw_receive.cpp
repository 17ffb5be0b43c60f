// Blocking receives: only the status has the number of received bytes, so one is supplied where the program
// ignores it.
#include "record/receives.hpp"
#include "wrap/intercept.hpp"

namespace mpiric::wrap {

using namespace record;

extern "C" int w_MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Status* status) {
    posts(source, tag, comm);
    MPI_Status own;
    MPI_Status* filled = status == MPI_STATUS_IGNORE ? &own : status;
    return intercept<Function::MPI_Recv, Timing::always, decltype(&w_MPI_Recv)>(
        [&](auto* next) { return next(buf, count, datatype, source, tag, comm, filled); },
        [&](RecordedCall& call) {
            call.on(comm);
            call.bytes = bytes_received(*filled);
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
    MPI_Status* filled = status == MPI_STATUS_IGNORE ? &own : status;
    return intercept<Function::MPI_Recv_c, Timing::always, decltype(&w_MPI_Recv_c)>(
        [&](auto* next) { return next(buf, count, datatype, source, tag, comm, filled); },
        [&](RecordedCall& call) {
            call.on(comm);
            call.bytes = bytes_received(*filled);
        });
}
extern "C" int p_MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                            MPI_Comm comm, MPI_Status* status) {
    return by_profiling_name<Function::MPI_Recv_c>(&w_MPI_Recv_c, buf, count, datatype, source, tag, comm,
                                                   status);
}
#endif

extern "C" int w_MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                           MPI_Status* status) {
    MPI_Status own;
    MPI_Status* filled = status == MPI_STATUS_IGNORE ? &own : status;
    return intercept<Function::MPI_Mrecv, Timing::always, decltype(&w_MPI_Mrecv)>(
        [&](auto* next) { return next(buf, count, datatype, message, filled); },
        [&](RecordedCall& call) { call.bytes = bytes_received(*filled); });
}
extern "C" int p_MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                           MPI_Status* status) {
    return by_profiling_name<Function::MPI_Mrecv>(&w_MPI_Mrecv, buf, count, datatype, message, status);
}

#if MPIRIC_HAS_MPI_Mrecv_c
extern "C" int w_MPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                             MPI_Status* status) {
    MPI_Status own;
    MPI_Status* filled = status == MPI_STATUS_IGNORE ? &own : status;
    return intercept<Function::MPI_Mrecv_c, Timing::always, decltype(&w_MPI_Mrecv_c)>(
        [&](auto* next) { return next(buf, count, datatype, message, filled); },
        [&](RecordedCall& call) { call.bytes = bytes_received(*filled); });
}
extern "C" int p_MPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                             MPI_Status* status) {
    return by_profiling_name<Function::MPI_Mrecv_c>(&w_MPI_Mrecv_c, buf, count, datatype, message, status);
}
#endif

}  // namespace mpiric::wrap
