// Completions: the number of received bytes is in the status, the end of a nonblocking collective is noticed
// here, and the handle is gone afterwards. Done at any depth and also while recording pauses: a handle that
// is left behind would be taken for the next one of its value.
#include "record/receives.hpp"
#include "wrap/intercept.hpp"

namespace mpiric::wrap {

using namespace record;
namespace {

constexpr int few = 64;  // requests whose handles and statuses fit on the stack

/// The body of all: the call, which fills in `done.statuses()`, and then what has completed by it.
template <Function function, Timing timing, class Pointer, class Done, class Do, class Tell>
[[gnu::always_inline]] inline int completes(Done& done, int count, const MPI_Request requests[],
                                            Do&& call_next, Tell&& tell) {
    const int result = intercept<function, timing, Pointer>(
        call_next, [](RecordedCall&) {}, [&](Entrance& call) { call.waits_for(count, requests); });
    if (result != MPI_SUCCESS)
        done.failed();
    else
        tell();
    return result;
}

/// Waitsome and Testsome.
template <Function function, Timing timing, class Pointer>
[[gnu::always_inline]] inline int completes_some(int count, MPI_Request requests[], int* completed,
                                                 int indices[], MPI_Status statuses[]) {
    Completion<few> done(count, requests, count, statuses);
    return completes<function, timing, Pointer>(
        done, count, requests,
        [&](auto* next) { return next(count, requests, completed, indices, done.statuses()); },
        [&] {
            for (int at = 0; at < *completed; ++at)
                done.done(indices[at], at);
        });
}

}  // namespace

extern "C" int w_MPI_Wait(MPI_Request* request, MPI_Status* status) {
    MPI_Status own;
    const CompletionOfOne done(request, status, own);
    return completes<Function::MPI_Wait, Timing::always, decltype(&w_MPI_Wait)>(
        done, 1, request, [&](auto* next) { return next(request, done.status()); }, [&] { done.done(); });
}

extern "C" int w_MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
    Completion<few> done(count, array_of_requests, count, array_of_statuses);
    return completes<Function::MPI_Waitall, Timing::always, decltype(&w_MPI_Waitall)>(
        done, count, array_of_requests,
        [&](auto* next) { return next(count, array_of_requests, done.statuses()); },
        [&] { done.all_done(); });
}

extern "C" int w_MPI_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
    Completion<few> done(count, array_of_requests, 1, status);
    return completes<Function::MPI_Waitany, Timing::always, decltype(&w_MPI_Waitany)>(
        done, count, array_of_requests,
        [&](auto* next) { return next(count, array_of_requests, index, done.statuses()); },
        [&] { done.done(*index, 0); });
}

extern "C" int w_MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
    return completes_some<Function::MPI_Waitsome, Timing::always, decltype(&w_MPI_Waitsome)>(
        incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

extern "C" int w_MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    MPI_Status own;
    const CompletionOfOne done(request, status, own);
    return completes<Function::MPI_Test, Timing::polled, decltype(&w_MPI_Test)>(
        done, 1, request, [&](auto* next) { return next(request, flag, done.status()); },
        [&] {
            if (*flag)
                done.done();
        });
}

extern "C" int w_MPI_Testall(int count, MPI_Request array_of_requests[], int* flag,
                             MPI_Status array_of_statuses[]) {
    Completion<few> done(count, array_of_requests, count, array_of_statuses);
    return completes<Function::MPI_Testall, Timing::polled, decltype(&w_MPI_Testall)>(
        done, count, array_of_requests,
        [&](auto* next) { return next(count, array_of_requests, flag, done.statuses()); },
        [&] {
            if (*flag)
                done.all_done();
        });
}

extern "C" int w_MPI_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
                             MPI_Status* status) {
    Completion<few> done(count, array_of_requests, 1, status);
    return completes<Function::MPI_Testany, Timing::polled, decltype(&w_MPI_Testany)>(
        done, count, array_of_requests,
        [&](auto* next) { return next(count, array_of_requests, index, flag, done.statuses()); },
        [&] {
            if (*flag)
                done.done(*index, 0);
        });
}

extern "C" int w_MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
    return completes_some<Function::MPI_Testsome, Timing::polled, decltype(&w_MPI_Testsome)>(
        incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

}  // namespace mpiric::wrap
