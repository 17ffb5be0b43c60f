// Blocking receives: only the status has the number of received bytes, so one is supplied.
#include "record/receives.hpp"
#include "wrap/intercept.hpp"

namespace mpiric::wrap {
namespace {

/// `on(call)` notes the communicator, if the function has one; `enter` is called at the entrance.
template <Function function, class Pointer, class Do, class On, class Enter>
[[gnu::always_inline]] inline int receives(MPI_Status* status, Do&& call_next, On&& on, Enter&& enter) {
    MPI_Status own;
    MPI_Status* filled = status == MPI_STATUS_IGNORE ? &own : status;
    return intercept<function, Timing::always, Pointer>([&](auto* next) { return call_next(next, filled); },
                                                        [&](RecordedCall& call) {
                                                            on(call);
                                                            call.bytes = record::bytes_received(*filled);
                                                        },
                                                        enter);
}

template <Function function, class Count>
[[gnu::always_inline]] inline int receive(void* buf, Count count, MPI_Datatype datatype, int source, int tag,
                                          MPI_Comm comm, MPI_Status* status) {
    posts(source, tag, comm);
    return receives<function, int (*)(void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*)>(
        status,
        [&](auto* next, MPI_Status* filled) { return next(buf, count, datatype, source, tag, comm, filled); },
        [&](RecordedCall& call) { call.on(comm); },
        [&](record::Entrance& call) {
            call.on(comm);
            call.with(source);
            call.tagged(tag);
        });
}

template <Function function, class Count>
[[gnu::always_inline]] inline int receive_matched(void* buf, Count count, MPI_Datatype datatype,
                                                  MPI_Message* message, MPI_Status* status) {
    return receives<function, int (*)(void*, Count, MPI_Datatype, MPI_Message*, MPI_Status*)>(
        status, [&](auto* next, MPI_Status* filled) { return next(buf, count, datatype, message, filled); },
        [](RecordedCall&) {}, NothingKnown{});
}

}  // namespace

extern "C" int w_MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          MPI_Status* status) {
    return receive<Function::MPI_Recv>(buf, count, datatype, source, tag, comm, status);
}
extern "C" int w_MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                           MPI_Status* status) {
    return receive_matched<Function::MPI_Mrecv>(buf, count, datatype, message, status);
}

#if MPIRIC_HAS_MPI_Recv_c
extern "C" int w_MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                            MPI_Comm comm, MPI_Status* status) {
    return receive<Function::MPI_Recv_c>(buf, count, datatype, source, tag, comm, status);
}
extern "C" int w_MPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                             MPI_Status* status) {
    return receive_matched<Function::MPI_Mrecv_c>(buf, count, datatype, message, status);
}
#endif

}  // namespace mpiric::wrap
