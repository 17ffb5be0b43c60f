// Included by pair.cpp: requests are the library's.
#include "kept.hpp"

#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace mpiric::translate {

std::atomic<long> kept_requests = 0;

namespace {

// A library may give a request to one call while another thread has not yet returned from the one that ended
// it, and one request to all operations that are over at once: what is kept for a request is a queue.
std::map<LRequest, std::deque<std::vector<void*>>> kept_arrays;
std::mutex kept_changing;

}  // namespace

void keep(int code, LRequest request, std::initializer_list<void*> arrays, bool joins) {
    if (code != 0) {
        for (void* array : arrays)
            std::free(array);
        return;
    }
    const std::lock_guard held(kept_changing);
    auto& queue = kept_arrays[request];
    if (!joins || queue.empty()) {
        queue.emplace_back();
        kept_requests.fetch_add(1, std::memory_order_relaxed);
    }
    queue.back().insert(queue.back().end(), arrays);
}

void let_go(LRequest request) {
    const std::lock_guard held(kept_changing);
    const auto found = kept_arrays.find(request);
    if (found == kept_arrays.end())
        return;
    for (void* array : found->second.front())
        std::free(array);
    found->second.pop_front();
    if (found->second.empty())
        kept_arrays.erase(found);
    kept_requests.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace mpiric::translate
