#include "select/timed.hpp"

#include "base/handle_bag.hpp"
#include "select/dispatching.hpp"
#include "symbols/interception.hpp"
#include "world/datatypes.hpp"

namespace mpiric::select {

constinit std::atomic<uint32_t> timed_requests{0};

namespace {

struct Timed {
    Lesson* lesson = nullptr;
    uint64_t begin_ns = 0;
};

// One thread at a time is in MPI: with more, nothing is learnt about the library's algorithms.
constinit HandleBag<Timed> in_use, unused;

}  // namespace

void time_request(MPI_Request request, Lesson& lesson, uint64_t begin_ns, bool persistent) noexcept {
    symbols::watch_completions();
    ++lesson.under_way;  // and stays so when memory is short: then the block never ends
    if ((persistent ? unused : in_use).put(world::number(request), {&lesson, begin_ns}))
        ++timed_requests;
}

void timed_started(MPI_Request request) noexcept {
    Timed timed;
    if (unused.take(world::number(request), timed) &&
        !in_use.put(world::number(request), {timed.lesson, now_ns()}))
        --timed_requests;
}

void timed_forgotten(MPI_Request request) noexcept {
    Timed timed;
    if (unused.take(world::number(request), timed))
        --timed_requests;
}

void timed_completed(MPI_Request request) noexcept {
    Timed timed;
    if (!requests_timed() || !in_use.take(world::number(request), timed))
        return;
    --timed_requests;
    timed.lesson->inside_ns += now_ns() - timed.begin_ns;
    --timed.lesson->under_way;
}

}  // namespace mpiric::select
