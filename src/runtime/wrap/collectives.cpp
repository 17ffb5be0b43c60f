#include "wrap/collectives.hpp"

#include "select/tuner.hpp"
#include "world/substitute.hpp"
#include "wrap/call.hpp"

#include <type_traits>

namespace mpiric::wrap {

constinit symbols::NextFunction untuned[symbols::function_count];

namespace {

using symbols::Function;
using world::handles;

/// By which of its names a function was called.
enum class Name : uint8_t { plain, profiling };

/// Root of a rooted call when it can be one.
bool is_root(const select::Space& space, int root) noexcept { return root >= 0 && root < space.size; }

template <class Count> uint64_t sum_of(const Count counts[], const select::Space& space) noexcept {
    uint64_t sum = 0;
    for (int at = 0; counts && at < space.size; ++at)
        sum += counts[at] > 0 ? uint64_t(counts[at]) : 0;
    return sum;
}

/// What a call moves: so many elements of a type, told as the share of one rank where policies do. A call of
/// which nothing is known has no `elements` either, and is `unsized`.
struct Amount {
    uint64_t elements = 0;
    MPI_Datatype type{};
    uint32_t shares = 1;
    MPI_Op op{};
    bool unsized = false;
};

template <class Count> constexpr Amount amount(MPI_Datatype type, Count count, MPI_Op op = {}) noexcept {
    return {count > 0 ? uint64_t(count) : 0, type, 1, op};
}
constexpr Amount unsized{0, {}, 1, {}, true};

/// Where a form that does not block puts its request.
MPI_Request* request_of() noexcept { return nullptr; }
MPI_Request* request_of(MPI_Request* request) noexcept { return request; }
MPI_Request* request_of(MPI_Info, MPI_Request* request) noexcept { return request; }

/// The entry of a call; null when it is the library's and nothing else is to be done.
template <Collective collective>
select::Entry* entry_of(select::Space& space, MPI_Comm comm, uint64_t bytes) {
    const uint32_t size_class = tune::class_of(bytes);
    if constexpr (form_of(collective) == Form::blocking) {
        if (space.agrees_next)
            select::agree_on_started(space, comm);
        return &space.knowledge->entries[uint32_t(collective)][size_class];
    } else {
        return select::entry_of_started(space, collective, size_class);
    }
}

/// Whether a look at what this thread remembers says that the call is the library's. It calls nothing, so
/// that the arguments stay where they are.
template <Collective collective, class Measure>
[[gnu::always_inline]] inline bool is_the_librarys(MPI_Comm comm, const Measure& measure) noexcept {
    if (thread.answering)
        return true;
    if constexpr (form_of(collective) == Form::blocking) {
        const select::RememberedSpace& known = select::remembered_space(comm);
        if (known.comm != comm || known.generation != world::generation.load(std::memory_order_acquire))
            return false;
        if (!known.space)
            return true;
        const Amount moved = measure(*known.space);
        const uint64_t all = moved.unsized ? 0 : moved.elements * world::cached_size(moved.type);
        if ((!moved.unsized && all == 0) || known.space->agrees_next)
            return false;
        select::Entry& entry =
            known.space->knowledge->entries[uint32_t(collective)][tune::class_of(all / moved.shares)];
        if (entry.choice != select::Entry::library)
            return false;
        ++entry.calls;
        return true;
    } else {
        return false;
    }
}

/// Calls the next function on a communicator.
template <Function function, Name name, class Pointer, class Onward>
[[gnu::always_inline]] inline int go_on(const Onward& onward, bool to_library, MPI_Comm on) {
    const symbols::NextFunction& following = untuned[uint32_t(function)];
    return onward(
        reinterpret_cast<Pointer>(to_library || name == Name::profiling ? following.library : following.next),
        on);
}

/// A call that is not the library's at a glance.
template <Function function, Name name, Collective collective, class Pointer, class Measure, class Onward,
          class Fill>
[[gnu::noinline]] int decide(MPI_Comm comm, int root, MPI_Request* request, Measure measure, Onward onward,
                             Fill fill) {
    struct Both {
        Onward onward;
        Fill fill;
    } const both{onward, fill};
    const auto next = [](const void* arguments, bool to_library, MPI_Comm on) {
        return go_on<function, name, Pointer>(static_cast<const Both*>(arguments)->onward, to_library, on);
    };
    select::Space* space = select::space_of(comm);
    if (!space)
        return next(&both, false, comm);
    const Amount moved = measure(*space);
    const uint64_t all = payload(moved.type, moved.elements), bytes = all / moved.shares;
    const bool left = !moved.unsized && (all == 0 || (reduces(collective) && moved.op == handles.op_null));
    if (left || !is_root(*space, root))
        return next(&both, false, comm);
    select::Entry* entry = entry_of<collective>(*space, comm, bytes);
    if (!entry)
        return next(&both, false, comm);
    ++entry->calls;
    if (entry->choice == select::Entry::library)
        return next(&both, false, comm);
    const auto fills = [](const void* arguments, coll::Call& call) {
        static_cast<const Both*>(arguments)->fill(call);
    };
    select::Ask ask{collective, comm,    bytes, all,   moved.elements, moved.type, moved.op,
                    root,       request, true,  &both, next,           fills};
    return form_of(collective) == Form::blocking ? select::answer(*space, *entry, ask)
                                                 : select::start(*space, *entry, ask);
}

/// The body of all: a look at the table, and on to the library or to the tuner. `rest` are the arguments
/// after the communicator, which the forms that do not block have.
template <Function function, Name name, Collective collective, class Pointer, class Measure, class Onward,
          class Fill, class... Rest>
[[gnu::always_inline]] inline int tune_call(MPI_Comm comm, int root, Measure measure, Onward onward,
                                            Fill fill, Rest... rest) {
    if (is_the_librarys<collective>(comm, measure)) [[likely]]
        return go_on<function, name, Pointer>(onward, false, comm);
    return decide<function, name, collective, Pointer>(comm, root, request_of(rest...), measure, onward,
                                                       fill);
}

// One body for each list of arguments. `Count` and `Place` are those of the small or of the large-count
// functions, `Rest` what follows the communicator.

/// Allreduce, reduce_scatter_block, scan, exscan.
template <Function function, Name name, Collective collective, class Count, class... Rest> struct Reduction {
    static int run(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [=](const select::Space&) { return amount(type, count, op); },
            [=](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, on, rest...); },
            [=](coll::Call& call) {
                call.send = send, call.receive = receive;
                call.receive_count = count, call.receive_type = type, call.op = op;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class... Rest>
struct RootedReduction {
    static int run(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root,
                   MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root, [=](const select::Space&) { return amount(type, count, op); },
            [=](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, root, on, rest...); },
            [=](coll::Call& call) {
                call.send = send, call.receive = receive;
                call.receive_count = count, call.receive_type = type, call.op = op;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class... Rest>
struct ScatteredReduction {
    static int run(const void* send, void* receive, const Count counts[], MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0,
            [=](const select::Space& space) {
                return Amount{sum_of(counts, space), type, uint32_t(space.size), op};
            },
            [=](auto* next, MPI_Comm on) { return next(send, receive, counts, type, op, on, rest...); },
            [=](coll::Call& call) {
                call.send = send, call.receive = receive;
                call.receive_counts = counts, call.receive_type = type, call.op = op;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class... Rest> struct Broadcast {
    static int run(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root, [=](const select::Space&) { return amount(type, count); },
            [=](auto* next, MPI_Comm on) { return next(buffer, count, type, root, on, rest...); },
            [=](coll::Call& call) {
                call.receive = buffer, call.receive_count = count, call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class... Rest> struct Synchronisation {
    static int run(MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [](const select::Space&) { return unsized; },
            [=](auto* next, MPI_Comm on) { return next(on, rest...); }, [](coll::Call&) {}, rest...);
    }
};

/// Allgather and alltoall: every rank gives all of it.
template <Function function, Name name, Collective collective, class Count, class... Rest> struct Exchange {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [=](const select::Space&) { return amount(receive_type, receive_count); },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, receive_count, receive_type, on, rest...);
            },
            [=](coll::Call& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
            },
            rest...);
    }
};

/// Gather and scatter. Of the two sides only one counts on a rank that is not the root: all ranks know the
/// size of a block of the side that the root has whole.
template <Function function, Name name, Collective collective, class Count, class... Rest> struct Rooted {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Rest... rest) {
        constexpr bool gathers = in_form(collective, Form::blocking) == Collective::gather;
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root,
            [=](const select::Space& space) {
                const bool receives = (space.rank == root) == gathers;
                return receives ? amount(receive_type, receive_count) : amount(send_type, send_count);
            },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, receive_count, receive_type, root, on,
                            rest...);
            },
            [=](coll::Call& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Place, class... Rest>
struct UnevenGathering {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   const Count counts[], const Place places[], MPI_Datatype type, MPI_Comm comm,
                   Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0,
            [=](const select::Space& space) {
                return Amount{sum_of(counts, space), type, uint32_t(space.size)};
            },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, counts, places, type, on, rest...);
            },
            [=](coll::Call& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_counts = counts, call.receive_places = places;
                call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Place, class... Rest>
struct UnevenExchange {
    static int run(const void* send, const Count send_counts[], const Place send_places[],
                   MPI_Datatype send_type, void* receive, const Count counts[], const Place places[],
                   MPI_Datatype type, MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [](const select::Space&) { return unsized; },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_counts, send_places, send_type, receive, counts, places, type, on,
                            rest...);
            },
            [=](coll::Call& call) {
                call.send = send, call.send_counts = send_counts, call.send_places = send_places;
                call.send_type = send_type;
                call.receive = receive, call.receive_counts = counts, call.receive_places = places;
                call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Place, class... Rest>
struct UnevenRootedGathering {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   const Count counts[], const Place places[], MPI_Datatype type, int root, MPI_Comm comm,
                   Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root, [](const select::Space&) { return unsized; },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, counts, places, type, root, on, rest...);
            },
            [=](coll::Call& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_counts = counts, call.receive_places = places;
                call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Place, class... Rest>
struct UnevenScattering {
    static int run(const void* send, const Count counts[], const Place places[], MPI_Datatype send_type,
                   void* receive, Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                   Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root, [](const select::Space&) { return unsized; },
            [=](auto* next, MPI_Comm on) {
                return next(send, counts, places, send_type, receive, receive_count, receive_type, root, on,
                            rest...);
            },
            [=](coll::Call& call) {
                call.send = send, call.send_counts = counts, call.send_places = places;
                call.send_type = send_type;
                call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
            },
            rest...);
    }
};

template <class Code> void* address(Code* code) noexcept { return reinterpret_cast<void*>(code); }

// The two names of one function. The rest of the list are the arguments of the body after the collective.
#define MPIRIC_TUNED(MPI_NAME, Body, ...)                                                                    \
    case Function::MPI_NAME:                                                                                 \
        return {address(&Body<Function::MPI_NAME, Name::plain, __VA_ARGS__>::run),                           \
                address(&Body<Function::MPI_NAME, Name::profiling, __VA_ARGS__>::run)};

// The three forms of a collective.
#define MPIRIC_TUNED_FORMS(Blocking, Nonblocking, one, Body, ...)                                            \
    MPIRIC_TUNED(MPI_##Blocking, Body, Collective::one __VA_OPT__(, ) __VA_ARGS__)                           \
    MPIRIC_TUNED(MPI_##Nonblocking, Body, Collective::i##one __VA_OPT__(, ) __VA_ARGS__, MPI_Request*)       \
    MPIRIC_TUNED(MPI_##Blocking##_init, Body, Collective::one##_init __VA_OPT__(, ) __VA_ARGS__, MPI_Info,   \
                 MPI_Request*)
#define MPIRIC_TUNED_LARGE_FORMS(Blocking, Nonblocking, one, Body, ...)                                      \
    MPIRIC_TUNED(MPI_##Blocking##_c, Body, Collective::one, __VA_ARGS__)                                     \
    MPIRIC_TUNED(MPI_##Nonblocking##_c, Body, Collective::i##one, __VA_ARGS__, MPI_Request*)                 \
    MPIRIC_TUNED(MPI_##Blocking##_init_c, Body, Collective::one##_init, __VA_ARGS__, MPI_Info, MPI_Request*)

}  // namespace

symbols::NextFunction tuned(Function function) noexcept {
    switch (function) {
        MPIRIC_TUNED_FORMS(Barrier, Ibarrier, barrier, Synchronisation)
        MPIRIC_TUNED_FORMS(Allreduce, Iallreduce, allreduce, Reduction, int)
        MPIRIC_TUNED_FORMS(Reduce, Ireduce, reduce, RootedReduction, int)
        MPIRIC_TUNED_FORMS(Bcast, Ibcast, bcast, Broadcast, int)
        MPIRIC_TUNED_FORMS(Allgather, Iallgather, allgather, Exchange, int)
        MPIRIC_TUNED_FORMS(Alltoall, Ialltoall, alltoall, Exchange, int)
        MPIRIC_TUNED_FORMS(Allgatherv, Iallgatherv, allgatherv, UnevenGathering, int, int)
        MPIRIC_TUNED_FORMS(Alltoallv, Ialltoallv, alltoallv, UnevenExchange, int, int)
        MPIRIC_TUNED_FORMS(Gather, Igather, gather, Rooted, int)
        MPIRIC_TUNED_FORMS(Scatter, Iscatter, scatter, Rooted, int)
        MPIRIC_TUNED_FORMS(Gatherv, Igatherv, gatherv, UnevenRootedGathering, int, int)
        MPIRIC_TUNED_FORMS(Scatterv, Iscatterv, scatterv, UnevenScattering, int, int)
        MPIRIC_TUNED_FORMS(Reduce_scatter, Ireduce_scatter, reduce_scatter, ScatteredReduction, int)
        MPIRIC_TUNED_FORMS(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, Reduction, int)
        MPIRIC_TUNED_FORMS(Scan, Iscan, scan, Reduction, int)
        MPIRIC_TUNED_FORMS(Exscan, Iexscan, exscan, Reduction, int)
#if MPIRIC_HAS_MPI_Allreduce_c
        MPIRIC_TUNED_LARGE_FORMS(Allreduce, Iallreduce, allreduce, Reduction, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Reduce, Ireduce, reduce, RootedReduction, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Bcast, Ibcast, bcast, Broadcast, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Allgather, Iallgather, allgather, Exchange, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Alltoall, Ialltoall, alltoall, Exchange, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Allgatherv, Iallgatherv, allgatherv, UnevenGathering, MPI_Count, MPI_Aint)
        MPIRIC_TUNED_LARGE_FORMS(Alltoallv, Ialltoallv, alltoallv, UnevenExchange, MPI_Count, MPI_Aint)
        MPIRIC_TUNED_LARGE_FORMS(Gather, Igather, gather, Rooted, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Scatter, Iscatter, scatter, Rooted, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Gatherv, Igatherv, gatherv, UnevenRootedGathering, MPI_Count, MPI_Aint)
        MPIRIC_TUNED_LARGE_FORMS(Scatterv, Iscatterv, scatterv, UnevenScattering, MPI_Count, MPI_Aint)
        MPIRIC_TUNED_LARGE_FORMS(Reduce_scatter, Ireduce_scatter, reduce_scatter, ScatteredReduction,
                                 MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, Reduction,
                                 MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Scan, Iscan, scan, Reduction, MPI_Count)
        MPIRIC_TUNED_LARGE_FORMS(Exscan, Iexscan, exscan, Reduction, MPI_Count)
#endif
    default:
        return {};
    }
}

}  // namespace mpiric::wrap
