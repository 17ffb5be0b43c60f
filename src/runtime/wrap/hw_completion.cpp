// Completions: how many bytes a receive got stands in its status, and its handle is gone afterwards. Done at
// any depth and also while recording pauses: a handle that is left behind would be taken for the next one of
// its value.
#include "wrap/intercept.hpp"
#include "wrap/receives.hpp"

namespace mpiric::wrap {
namespace {

constexpr int few = 64;  // requests whose handles and statuses fit on the stack

}  // namespace

extern "C" int w_MPI_Wait(MPI_Request* request, MPI_Status* status) {
    CompletionOfOne done(request, status);
    const int result = intercept<Function::MPI_Wait, Policy::always, decltype(&w_MPI_Wait)>(
        [&](auto* next) { return next(request, done.status()); }, [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else
        done.done();
    return result;
}
extern "C" int p_MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return by_profiling_name<Function::MPI_Wait>(&w_MPI_Wait, request, status);
}

extern "C" int w_MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
    Completion<few> done(count, array_of_requests, count, array_of_statuses);
    const int result = intercept<Function::MPI_Waitall, Policy::always, decltype(&w_MPI_Waitall)>(
        [&](auto* next) { return next(count, array_of_requests, done.statuses()); }, [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else {
        done.all_done();
    }
    return result;
}
extern "C" int p_MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
    return by_profiling_name<Function::MPI_Waitall>(&w_MPI_Waitall, count, array_of_requests,
                                                    array_of_statuses);
}

extern "C" int w_MPI_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
    Completion<few> done(count, array_of_requests, 1, status);
    const int result = intercept<Function::MPI_Waitany, Policy::always, decltype(&w_MPI_Waitany)>(
        [&](auto* next) { return next(count, array_of_requests, index, done.statuses()); }, [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else {
        done.done(*index, 0);
    }
    return result;
}
extern "C" int p_MPI_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
    return by_profiling_name<Function::MPI_Waitany>(&w_MPI_Waitany, count, array_of_requests, index, status);
}

extern "C" int w_MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
    Completion<few> done(incount, array_of_requests, incount, array_of_statuses);
    const int result = intercept<Function::MPI_Waitsome, Policy::always, decltype(&w_MPI_Waitsome)>(
        [&](auto* next) {
            return next(incount, array_of_requests, outcount, array_of_indices, done.statuses());
        },
        [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else {
        for (int at = 0; at < *outcount; ++at)
            done.done(array_of_indices[at], at);
    }
    return result;
}
extern "C" int p_MPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
    return by_profiling_name<Function::MPI_Waitsome>(&w_MPI_Waitsome, incount, array_of_requests, outcount,
                                                     array_of_indices, array_of_statuses);
}

extern "C" int w_MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    CompletionOfOne done(request, status);
    const int result = intercept<Function::MPI_Test, Policy::polled, decltype(&w_MPI_Test)>(
        [&](auto* next) { return next(request, flag, done.status()); }, [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else if (*flag)
        done.done();
    return result;
}
extern "C" int p_MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return by_profiling_name<Function::MPI_Test>(&w_MPI_Test, request, flag, status);
}

extern "C" int w_MPI_Testall(int count, MPI_Request array_of_requests[], int* flag,
                             MPI_Status array_of_statuses[]) {
    Completion<few> done(count, array_of_requests, count, array_of_statuses);
    const int result = intercept<Function::MPI_Testall, Policy::polled, decltype(&w_MPI_Testall)>(
        [&](auto* next) { return next(count, array_of_requests, flag, done.statuses()); }, [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else {
        if (*flag)
            done.all_done();
    }
    return result;
}
extern "C" int p_MPI_Testall(int count, MPI_Request array_of_requests[], int* flag,
                             MPI_Status array_of_statuses[]) {
    return by_profiling_name<Function::MPI_Testall>(&w_MPI_Testall, count, array_of_requests, flag,
                                                    array_of_statuses);
}

extern "C" int w_MPI_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
                             MPI_Status* status) {
    Completion<few> done(count, array_of_requests, 1, status);
    const int result = intercept<Function::MPI_Testany, Policy::polled, decltype(&w_MPI_Testany)>(
        [&](auto* next) { return next(count, array_of_requests, index, flag, done.statuses()); },
        [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else {
        if (*flag)
            done.done(*index, 0);
    }
    return result;
}
extern "C" int p_MPI_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
                             MPI_Status* status) {
    return by_profiling_name<Function::MPI_Testany>(&w_MPI_Testany, count, array_of_requests, index, flag,
                                                    status);
}

extern "C" int w_MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
    Completion<few> done(incount, array_of_requests, incount, array_of_statuses);
    const int result = intercept<Function::MPI_Testsome, Policy::polled, decltype(&w_MPI_Testsome)>(
        [&](auto* next) {
            return next(incount, array_of_requests, outcount, array_of_indices, done.statuses());
        },
        [](Call&) {});
    if (result != MPI_SUCCESS)
        done.failed();
    else {
        for (int at = 0; at < *outcount; ++at)
            done.done(array_of_indices[at], at);
    }
    return result;
}
extern "C" int p_MPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount,
                              int array_of_indices[], MPI_Status array_of_statuses[]) {
    return by_profiling_name<Function::MPI_Testsome>(&w_MPI_Testsome, incount, array_of_requests, outcount,
                                                     array_of_indices, array_of_statuses);
}

}  // namespace mpiric::wrap
