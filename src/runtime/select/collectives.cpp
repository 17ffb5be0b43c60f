// The functions that the tuner puts before the library's: collectives, which it dispatches, and functions
// that give handles back.
#include "select/fast_path.hpp"
#include "select/tuner.hpp"
#include "world/volume.hpp"

#include <type_traits>

namespace mpiric::select {

namespace {

/// Functions that the tuner's functions call.
constinit symbols::NextFunction untuned[symbols::function_count];

using symbols::Function;
using world::handles;
using world::payload;

/// By which of its names a function was called.
enum class Name : uint8_t { plain, profiling };

/// Where a form that does not block puts its request.
MPI_Request* request_of() noexcept { return nullptr; }
MPI_Request* request_of(MPI_Request* request) noexcept { return request; }
MPI_Request* request_of(MPI_Info, MPI_Request* request) noexcept { return request; }

/// Calls the next definition of a function, on a communicator.
template <Function function, Name name, class Pointer, class CallNext>
[[gnu::always_inline]] inline int pass_on(const CallNext& call_next, bool to_library, MPI_Comm comm) {
    const symbols::NextFunction& following = untuned[uint32_t(function)];
    return call_next(
        reinterpret_cast<Pointer>(to_library || name == Name::profiling ? following.library : following.next),
        comm);
}

/// The arguments of a call and functions that use them, for code that is the same for all functions.
struct CallAccess {
    const void* given;
    Amount (*measure)(const void* given, const CommState& state);
    int (*next)(const void* given, bool to_library, MPI_Comm comm);
    void (*fill)(const void* given, coll::Arguments& call);
};

/// Decides who serves a call that does not take the fast path.
[[gnu::noinline]] int leave_or_dispatch(Collective collective, MPI_Comm comm, int root, MPI_Request* request,
                                        const CallAccess& arguments) {
    const auto leave = [&] { return arguments.next(arguments.given, false, comm); };
    CommState* state = comm_state(comm);
    if (!state)
        return leave();
    const Amount moved = arguments.measure(arguments.given, *state);
    const uint64_t all = payload(moved.type, moved.elements), bytes = all / moved.shares;
    const bool moves_nothing = !moved.unsized && all == 0;
    const bool is_error = (!moved.unsized && reduces(collective) && moved.op == handles.op_null) ||
                          root < 0 || root >= state->size;
    if (moves_nothing || is_error)
        return leave();
    Entry* entry = entry_of(collective, *state, comm, bytes);
    if (!entry)
        return leave();
    ++entry->calls;
    if (entry->choice == Choice::library)
        return leave();
    CollectiveCall call{collective,      comm,           bytes,         all,     moved.elements,
                        moved.type,      moved.op,       root,          request, true,
                        arguments.given, arguments.next, arguments.fill};
    return form_of(collective) == Form::blocking ? dispatch(*state, *entry, call)
                                                 : dispatch_start(*state, *entry, call);
}

/// Hands such a call to it, out of the way of the fast path.
template <Function function, Name name, Collective collective, class Pointer, class Measure, class CallNext,
          class Fill>
[[gnu::noinline]] int take_slow_path(MPI_Comm comm, int root, MPI_Request* request, Measure measure,
                                     CallNext call_next, Fill fill) {
    struct Given {
        Measure measure;
        CallNext call_next;
        Fill fill;
    } const given{measure, call_next, fill};
    return leave_or_dispatch(
        collective, comm, root, request,
        {&given,
         [](const void* from, const CommState& state) {
             return static_cast<const Given*>(from)->measure(state);
         },
         [](const void* from, bool to_library, MPI_Comm on) {
             return pass_on<function, name, Pointer>(static_cast<const Given*>(from)->call_next, to_library,
                                                     on);
         },
         [](const void* from, coll::Arguments& call) { static_cast<const Given*>(from)->fill(call); }});
}

/// The body of all: the fast path, or a decision. `rest` are the arguments after the communicator, which the
/// forms that do not block have.
template <Function function, Name name, Collective collective, class Pointer, class Measure, class CallNext,
          class Fill, class... Rest>
[[gnu::always_inline]] inline int tune_call(MPI_Comm comm, int root, Measure measure, CallNext call_next,
                                            Fill fill, Rest... rest) {
    if (takes_fast_path<collective>(comm, measure)) [[likely]]
        return pass_on<function, name, Pointer>(call_next, false, comm);
    return take_slow_path<function, name, collective, Pointer>(comm, root, request_of(rest...), measure,
                                                               call_next, fill);
}

// One body for each list of arguments. `Count` and `Displacement` are the types of the small or of the
// large-count functions, `Rest` what follows the communicator.

/// Allreduce, reduce_scatter_block, scan, exscan.
template <Function function, Name name, Collective collective, class Count, class... Rest> struct Reduction {
    static int run(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [=](const CommState&) { return amount(type, count, op); },
            [=](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, on, rest...); },
            [=](coll::Arguments& call) {
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
            comm, root, [=](const CommState&) { return amount(type, count, op); },
            [=](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, root, on, rest...); },
            [=](coll::Arguments& call) {
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
            [=](const CommState& state) {
                return Amount{sum_of(counts, state), type, uint32_t(state.size), op};
            },
            [=](auto* next, MPI_Comm on) { return next(send, receive, counts, type, op, on, rest...); },
            [=](coll::Arguments& call) {
                call.send = send, call.receive = receive;
                call.receive_counts = counts, call.receive_type = type, call.op = op;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class... Rest> struct Broadcast {
    static int run(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root, [=](const CommState&) { return amount(type, count); },
            [=](auto* next, MPI_Comm on) { return next(buffer, count, type, root, on, rest...); },
            [=](coll::Arguments& call) {
                call.receive = buffer, call.receive_count = count, call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class... Rest> struct Synchronisation {
    static int run(MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [](const CommState&) { return unsized; },
            [=](auto* next, MPI_Comm on) { return next(on, rest...); }, [](coll::Arguments&) {}, rest...);
    }
};

/// Allgather, alltoall.
template <Function function, Name name, Collective collective, class Count, class... Rest> struct Exchange {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   Count receive_count, MPI_Datatype receive_type, MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [=](const CommState&) { return amount(receive_type, receive_count); },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, receive_count, receive_type, on, rest...);
            },
            [=](coll::Arguments& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
            },
            rest...);
    }
};

/// Gather, scatter. Only one side counts on a rank that is not the root: all ranks know the size of a block
/// of the side that the root has whole.
template <Function function, Name name, Collective collective, class Count, class... Rest> struct Rooted {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm, Rest... rest) {
        constexpr bool gathers = in_form(collective, Form::blocking) == Collective::gather;
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root,
            [=](const CommState& state) {
                const bool receives = (state.rank == root) == gathers;
                return receives ? amount(receive_type, receive_count) : amount(send_type, send_count);
            },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, receive_count, receive_type, root, on,
                            rest...);
            },
            [=](coll::Arguments& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Displacement, class... Rest>
struct UnevenGathering {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   const Count counts[], const Displacement displacements[], MPI_Datatype type, MPI_Comm comm,
                   Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0,
            [=](const CommState& state) { return Amount{sum_of(counts, state), type, uint32_t(state.size)}; },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, counts, displacements, type, on, rest...);
            },
            [=](coll::Arguments& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_counts = counts,
                call.receive_displacements = displacements;
                call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Displacement, class... Rest>
struct UnevenExchange {
    static int run(const void* send, const Count send_counts[], const Displacement send_displacements[],
                   MPI_Datatype send_type, void* receive, const Count counts[],
                   const Displacement displacements[], MPI_Datatype type, MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, 0, [](const CommState&) { return unsized; },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_counts, send_displacements, send_type, receive, counts, displacements,
                            type, on, rest...);
            },
            [=](coll::Arguments& call) {
                call.send = send, call.send_counts = send_counts,
                call.send_displacements = send_displacements;
                call.send_type = send_type;
                call.receive = receive, call.receive_counts = counts,
                call.receive_displacements = displacements;
                call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Displacement, class... Rest>
struct UnevenRootedGathering {
    static int run(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
                   const Count counts[], const Displacement displacements[], MPI_Datatype type, int root,
                   MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root, [](const CommState&) { return unsized; },
            [=](auto* next, MPI_Comm on) {
                return next(send, send_count, send_type, receive, counts, displacements, type, root, on,
                            rest...);
            },
            [=](coll::Arguments& call) {
                call.send = send, call.send_count = send_count, call.send_type = send_type;
                call.receive = receive, call.receive_counts = counts,
                call.receive_displacements = displacements;
                call.receive_type = type;
            },
            rest...);
    }
};

template <Function function, Name name, Collective collective, class Count, class Displacement, class... Rest>
struct UnevenScattering {
    static int run(const void* send, const Count counts[], const Displacement displacements[],
                   MPI_Datatype send_type, void* receive, Count receive_count, MPI_Datatype receive_type,
                   int root, MPI_Comm comm, Rest... rest) {
        return tune_call<function, name, collective, decltype(&run)>(
            comm, root, [](const CommState&) { return unsized; },
            [=](auto* next, MPI_Comm on) {
                return next(send, counts, displacements, send_type, receive, receive_count, receive_type,
                            root, on, rest...);
            },
            [=](coll::Arguments& call) {
                call.send = send, call.send_counts = counts, call.send_displacements = displacements;
                call.send_type = send_type;
                call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
            },
            rest...);
    }
};

template <class Code> void* address(Code* code) noexcept { return reinterpret_cast<void*>(code); }

// Functions that give a handle back. The library may hand the same value out again at once, so all state of
// the handle is dropped before the call.
template <Function function, Name name, class Handle> struct Freeing {
    static int run(Handle* handle) {
        if constexpr (function == Function::MPI_Type_free)
            world::invalidate_caches();
        else if (handle)
            forget_comm_state(*handle);
        const symbols::NextFunction& following = untuned[uint32_t(function)];
        return reinterpret_cast<int (*)(Handle*)>(name == Name::plain ? following.next
                                                                      : following.library)(handle);
    }
};

// The two names of one function. The rest of the list are the arguments of the body after the collective.
#define MPIRIC_TUNED(MPI_NAME, Body, ...)                                                                    \
    case Function::MPI_NAME:                                                                                 \
        return {address(&Body<Function::MPI_NAME, Name::plain, __VA_ARGS__>::run),                           \
                address(&Body<Function::MPI_NAME, Name::profiling, __VA_ARGS__>::run)};

// The three forms of a collective.
#define MPIRIC_TUNED_FORMS(Blocking, Nonblocking, name, Body, ...)                                           \
    MPIRIC_TUNED(MPI_##Blocking, Body, Collective::name __VA_OPT__(, ) __VA_ARGS__)                          \
    MPIRIC_TUNED(MPI_##Nonblocking, Body, Collective::i##name __VA_OPT__(, ) __VA_ARGS__, MPI_Request*)      \
    MPIRIC_TUNED(MPI_##Blocking##_init, Body, Collective::name##_init __VA_OPT__(, ) __VA_ARGS__, MPI_Info,  \
                 MPI_Request*)
#define MPIRIC_TUNED_LARGE_FORMS(Blocking, Nonblocking, name, Body, ...)                                     \
    MPIRIC_TUNED(MPI_##Blocking##_c, Body, Collective::name, __VA_ARGS__)                                    \
    MPIRIC_TUNED(MPI_##Nonblocking##_c, Body, Collective::i##name, __VA_ARGS__, MPI_Request*)                \
    MPIRIC_TUNED(MPI_##Blocking##_init_c, Body, Collective::name##_init, __VA_ARGS__, MPI_Info, MPI_Request*)

// All collectives but the barrier, with the types of their counts and displacements.
#define MPIRIC_TUNED_COLLECTIVES(FORMS, Count, Displacement)                                                 \
    FORMS(Allreduce, Iallreduce, allreduce, Reduction, Count)                                                \
    FORMS(Reduce, Ireduce, reduce, RootedReduction, Count)                                                   \
    FORMS(Bcast, Ibcast, bcast, Broadcast, Count)                                                            \
    FORMS(Allgather, Iallgather, allgather, Exchange, Count)                                                 \
    FORMS(Alltoall, Ialltoall, alltoall, Exchange, Count)                                                    \
    FORMS(Allgatherv, Iallgatherv, allgatherv, UnevenGathering, Count, Displacement)                         \
    FORMS(Alltoallv, Ialltoallv, alltoallv, UnevenExchange, Count, Displacement)                             \
    FORMS(Gather, Igather, gather, Rooted, Count)                                                            \
    FORMS(Scatter, Iscatter, scatter, Rooted, Count)                                                         \
    FORMS(Gatherv, Igatherv, gatherv, UnevenRootedGathering, Count, Displacement)                            \
    FORMS(Scatterv, Iscatterv, scatterv, UnevenScattering, Count, Displacement)                              \
    FORMS(Reduce_scatter, Ireduce_scatter, reduce_scatter, ScatteredReduction, Count)                        \
    FORMS(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, Reduction, Count)               \
    FORMS(Scan, Iscan, scan, Reduction, Count)                                                               \
    FORMS(Exscan, Iexscan, exscan, Reduction, Count)

}  // namespace

symbols::NextFunction tuned(Function function) noexcept {
    switch (function) {
        MPIRIC_TUNED_FORMS(Barrier, Ibarrier, barrier, Synchronisation)
        MPIRIC_TUNED_COLLECTIVES(MPIRIC_TUNED_FORMS, int, int)
#if MPIRIC_HAS_MPI_Allreduce_c
        MPIRIC_TUNED_COLLECTIVES(MPIRIC_TUNED_LARGE_FORMS, MPI_Count, MPI_Aint)
#endif
        MPIRIC_TUNED(MPI_Comm_free, Freeing, MPI_Comm)
        MPIRIC_TUNED(MPI_Comm_disconnect, Freeing, MPI_Comm)
        MPIRIC_TUNED(MPI_Type_free, Freeing, MPI_Datatype)
    default:
        return {};
    }
}

void insert_tuned(Function function, symbols::NextFunction& following) noexcept {
    untuned[uint32_t(function)] = following;
    following = tuned(function);
}

}  // namespace mpiric::select
