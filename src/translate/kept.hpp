// Arrays that the library may read after a call: they are kept until its operation is over.
#pragma once

#include "pair.hpp"

#include <atomic>
#include <initializer_list>
#include <type_traits>

namespace mpiric::translate {

/// Requests that arrays are kept for.
[[gnu::visibility("hidden")]] extern std::atomic<long> kept_requests;

/// Takes over `arrays` for a request, or frees them where the call has failed. `joins`: the call has kept
/// others for the same request.
void keep(int code, LRequest request, std::initializer_list<void*> arrays, bool joins);
/// Frees what has been kept longest for a request.
void let_go(LRequest request);

/// What holds the handle of an object has been given another value: a request has ended, or been freed.
template <class T> [[gnu::always_inline]] inline void gone(LHandle<T> handle) {
    if constexpr (std::is_same_v<T, Request>)
        if (kept_requests.load(std::memory_order_relaxed) > 0) [[unlikely]]
            let_go(handle);
}

}  // namespace mpiric::translate
