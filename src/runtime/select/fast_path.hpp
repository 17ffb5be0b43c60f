// The fast path of a collective call: where the entry says that the library serves it, the call goes on after
// a look at what this thread has cached, without a call, a lock or a clock.
#pragma once

#include "select/comm_state.hpp"
#include "select/dispatch.hpp"

#include <cstdint>

namespace mpiric::select {

/// Data that a call moves: elements of a datatype, divided among `shares` ranks where policies use the size
/// of one rank's part.
struct Amount {
    uint64_t elements = 0;
    MPI_Datatype type{};
    uint32_t shares = 1;
    MPI_Op op{};
    bool unsized = false;  ///< the size is not known to all ranks
};

template <class Count> constexpr Amount amount(MPI_Datatype type, Count count, MPI_Op op = {}) noexcept {
    return {count > 0 ? uint64_t(count) : 0, type, 1, op};
}
inline constexpr Amount unsized{0, {}, 1, {}, true};

template <class Count> uint64_t sum_of(const Count counts[], const CommState& state) noexcept {
    uint64_t sum = 0;
    for (int at = 0; counts && at < state.size; ++at)
        sum += counts[at] > 0 ? uint64_t(counts[at]) : 0;
    return sum;
}

/// Whether a call takes the fast path; counts it. It calls nothing, so that the arguments stay in registers.
template <Collective collective, class Measure>
[[gnu::always_inline]] inline bool takes_fast_path(MPI_Comm comm, const Measure& measure) noexcept {
    if (thread.dispatching)
        return true;
    if constexpr (form_of(collective) == Form::blocking) {
        const CachedCommState& cached = cached_comm_state(comm);
        if (cached.comm != comm ||
            cached.generation != world::caches.generation.load(std::memory_order_acquire))
            return false;
        if (!cached.state)
            return true;
        const Amount moved = measure(*cached.state);
        const uint64_t bytes = moved.unsized ? 0 : moved.elements * world::cached_size(moved.type);
        if ((!moved.unsized && bytes == 0) || cached.state->agrees_next)
            return false;
        Entry& entry = cached.state->group->blocking.entry(collective, tune::class_of(bytes / moved.shares));
        if (entry.choice != Choice::library)
            return false;
        ++entry.calls;
        return true;
    } else {
        return false;
    }
}

/// The entry of a call; null when memory is short.
inline Entry* entry_of(Collective collective, CommState& state, MPI_Comm comm, uint64_t bytes) {
    const uint32_t size_class = tune::class_of(bytes);
    if (form_of(collective) != Form::blocking)
        return started_entry(state, collective, size_class);
    if (state.agrees_next)
        agree_on_started(state, comm);
    return &state.group->blocking.entry(collective, size_class);
}

}  // namespace mpiric::select
