// Arrays that the library may read after a call: they are kept until its operation is over.
#pragma once

#include "pair.hpp"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <type_traits>
#include <vector>

namespace mpiric::translate {

struct KeptArrays {
    std::atomic<long> requests = 0;  ///< number of requests with kept arrays
    std::mutex changing;
    /// A library may give a request to one call before another thread has returned from the call that ended
    /// it, and one request to all operations that complete at once: the arrays of a request are a queue.
    std::map<LRequest, std::deque<std::vector<void*>>> of_requests;
};
inline KeptArrays kept_arrays;

/// Takes over `arrays` for a request, or frees them where the call has failed. `joins`: the call has kept
/// others for the same request.
inline void keep(int code, LRequest request, std::initializer_list<void*> arrays, bool joins) {
    if (code != 0) {
        for (void* array : arrays)
            std::free(array);
        return;
    }
    const std::lock_guard held(kept_arrays.changing);
    auto& queue = kept_arrays.of_requests[request];
    if (!joins || queue.empty()) {
        queue.emplace_back();
        kept_arrays.requests.fetch_add(1, std::memory_order_relaxed);
    }
    queue.back().insert(queue.back().end(), arrays);
}

/// Frees what has been kept longest for a request.
inline void let_go(LRequest request) {
    const std::lock_guard held(kept_arrays.changing);
    const auto found = kept_arrays.of_requests.find(request);
    if (found == kept_arrays.of_requests.end())
        return;
    for (void* array : found->second.front())
        std::free(array);
    found->second.pop_front();
    if (found->second.empty())
        kept_arrays.of_requests.erase(found);
    kept_arrays.requests.fetch_sub(1, std::memory_order_relaxed);
}

/// Called when a variable that held a handle gets another value: a request has ended, or been freed.
template <class T> [[gnu::always_inline]] inline void gone(LHandle<T> handle) {
    if constexpr (std::is_same_v<T, Request>)
        if (kept_arrays.requests.load(std::memory_order_relaxed) > 0) [[unlikely]]
            let_go(handle);
}

}  // namespace mpiric::translate
