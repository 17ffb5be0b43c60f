// Independent work items on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace mpiric::mapper {

// Calls `work(i)` for each i below `count`; threads take items in any order, so work(i) must depend on i
// only.
template <class Work> void for_each_index(std::size_t count, unsigned threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    const auto run = [&] {
        for (std::size_t i = next++; i < count; i = next++)
            work(i);
    };
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i)
        workers.emplace_back(run);
    run();
}

}  // namespace mpiric::mapper
