// The functions that the tuner puts before the library's: collectives, which it dispatches, and functions
// that give handles back.
#include "select/fast_path.hpp"
#include "select/tuner.hpp"
#include "symbols/function_table.hpp"
#include "world/datatypes.hpp"

#include <cstddef>
#include <tuple>
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

// The parameters of the functions by their fields of coll::Arguments, up to the communicator. Forms that do
// not block have an info or a request, or both, behind it.
template <auto... fields> struct Parameters {};
using A = coll::Arguments;
using Synchronisation = Parameters<>;
using Broadcast = Parameters<&A::receive, &A::receive_count, &A::receive_type, &A::root>;
using Reduction = Parameters<&A::send, &A::receive, &A::receive_count, &A::receive_type, &A::op>;
using RootedReduction =
    Parameters<&A::send, &A::receive, &A::receive_count, &A::receive_type, &A::op, &A::root>;
using ScatteredReduction = Parameters<&A::send, &A::receive, &A::receive_counts, &A::receive_type, &A::op>;
using Exchange =
    Parameters<&A::send, &A::send_count, &A::send_type, &A::receive, &A::receive_count, &A::receive_type>;
using Rooted = Parameters<&A::send, &A::send_count, &A::send_type, &A::receive, &A::receive_count,
                          &A::receive_type, &A::root>;
using UnevenGathering = Parameters<&A::send, &A::send_count, &A::send_type, &A::receive, &A::receive_counts,
                                   &A::receive_displacements, &A::receive_type>;
using UnevenRootedGathering =
    Parameters<&A::send, &A::send_count, &A::send_type, &A::receive, &A::receive_counts,
               &A::receive_displacements, &A::receive_type, &A::root>;
using UnevenScattering = Parameters<&A::send, &A::send_counts, &A::send_displacements, &A::send_type,
                                    &A::receive, &A::receive_count, &A::receive_type, &A::root>;
using UnevenExchange =
    Parameters<&A::send, &A::send_counts, &A::send_displacements, &A::send_type, &A::receive,
               &A::receive_counts, &A::receive_displacements, &A::receive_type>;

template <auto field> struct Field {};

/// Position of a field in the list of parameters; their number where it is none of them.
template <auto field, auto... fields> consteval size_t position(Parameters<fields...>) {
    size_t at = 0;
    (void)((std::is_same_v<Field<field>, Field<fields>> || (++at, false)) || ...);
    return at;
}

/// The two functions of a collective, by the arguments of its function in the header.
template <Function function, Name name, Collective collective, class Fields, class Pointer> struct Tuned;

template <Function function, Name name, Collective collective, auto... fields, class... Arguments>
struct Tuned<function, name, collective, Parameters<fields...>, int (*)(Arguments...)> {
    static int run(Arguments... arguments) {
        const auto given = std::tie(arguments...);
        if (takes_fast_path<collective>(std::get<comm_at>(given), [&](const CommState& state) {
                return measure(given, state);
            })) [[likely]]
            return following(false)(arguments...);
        return take_slow_path(arguments...);
    }

  private:
    static constexpr size_t comm_at = sizeof...(fields);

    template <auto field> static auto value(const auto& given) {
        return std::get<position<field>(Parameters<fields...>{})>(given);
    }

    [[gnu::always_inline]] static Amount measure([[maybe_unused]] const auto& given,
                                                 [[maybe_unused]] const CommState& state) {
        using enum Collective;
        constexpr Collective kind = in_form(collective, Form::blocking);
        if constexpr (kind == barrier || kind == alltoallv || kind == gatherv || kind == scatterv) {
            return unsized;
        } else if constexpr (kind == allgatherv) {
            return {sum_of(value<&A::receive_counts>(given), state), value<&A::receive_type>(given),
                    uint32_t(state.size)};
        } else if constexpr (kind == reduce_scatter) {
            return {sum_of(value<&A::receive_counts>(given), state), value<&A::receive_type>(given),
                    uint32_t(state.size), value<&A::op>(given)};
        } else if constexpr (reduces(kind)) {
            return amount(value<&A::receive_type>(given), value<&A::receive_count>(given),
                          value<&A::op>(given));
        } else {
            // Only one side counts on a rank that is not the root: all ranks know the size of a block of the
            // side that the root has whole.
            if constexpr (kind == gather || kind == scatter)
                if ((state.rank == value<&A::root>(given)) != (kind == gather))
                    return amount(value<&A::send_type>(given), value<&A::send_count>(given));
            return amount(value<&A::receive_type>(given), value<&A::receive_count>(given));
        }
    }

    static auto following(bool to_library) {
        const symbols::NextFunction& next = untuned[uint32_t(function)];
        return reinterpret_cast<int (*)(Arguments...)>(to_library || name == Name::profiling ? next.library
                                                                                             : next.next);
    }

    /// Hands the call to leave_or_dispatch(), out of the way of the fast path.
    [[gnu::noinline]] static int take_slow_path(Arguments... arguments) {
        using Given = std::tuple<Arguments...>;
        const Given given{arguments...};
        int root = 0;
        if constexpr (position<&A::root>(Parameters<fields...>{}) < comm_at)
            root = value<&A::root>(given);
        MPI_Request* request = nullptr;
        if constexpr (form_of(collective) != Form::blocking)
            request = std::get<sizeof...(Arguments) - 1>(given);
        return leave_or_dispatch(
            collective, std::get<comm_at>(given), root, request,
            {&given,
             [](const void* from, const CommState& state) {
                 return measure(*static_cast<const Given*>(from), state);
             },
             [](const void* from, bool to_library, MPI_Comm on) {
                 Given changed = *static_cast<const Given*>(from);
                 std::get<comm_at>(changed) = on;
                 return std::apply(following(to_library), changed);
             },
             []([[maybe_unused]] const void* from, [[maybe_unused]] coll::Arguments& call) {
                 ((call.*fields = value<fields>(*static_cast<const Given*>(from))), ...);
             }});
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

// The two names of a function that the header has, with its parameters.
#define MPIRIC_TUNED_1(MPI_NAME, collective, Fields)                                                         \
    case Function::MPI_NAME:                                                                                 \
        return {address(&Tuned<Function::MPI_NAME, Name::plain, Collective::collective, Fields,              \
                               decltype(&P##MPI_NAME)>::run),                                                \
                address(&Tuned<Function::MPI_NAME, Name::profiling, Collective::collective, Fields,          \
                               decltype(&P##MPI_NAME)>::run)};
#define MPIRIC_TUNED_0(MPI_NAME, collective, Fields)
#define MPIRIC_TUNED(MPI_NAME, collective, Fields)                                                           \
    MPIRIC_SELECT(MPIRIC_TUNED, MPI_NAME)(MPI_NAME, collective, Fields)

// The three forms of a collective, for counts of int, and for large ones.
#define MPIRIC_TUNED_FORMS(Blocking, Nonblocking, name, Fields)                                              \
    MPIRIC_TUNED(MPI_##Blocking, name, Fields)                                                               \
    MPIRIC_TUNED(MPI_##Nonblocking, i##name, Fields)                                                         \
    MPIRIC_TUNED(MPI_##Blocking##_init, name##_init, Fields)
#define MPIRIC_TUNED_COUNTS(Blocking, Nonblocking, name, Fields)                                             \
    MPIRIC_TUNED_FORMS(Blocking, Nonblocking, name, Fields)                                                  \
    MPIRIC_TUNED(MPI_##Blocking##_c, name, Fields)                                                           \
    MPIRIC_TUNED(MPI_##Nonblocking##_c, i##name, Fields)                                                     \
    MPIRIC_TUNED(MPI_##Blocking##_init_c, name##_init, Fields)

#define MPIRIC_FREEING(MPI_NAME, Handle)                                                                     \
    case Function::MPI_NAME:                                                                                 \
        return {address(&Freeing<Function::MPI_NAME, Name::plain, Handle>::run),                             \
                address(&Freeing<Function::MPI_NAME, Name::profiling, Handle>::run)};

}  // namespace

symbols::NextFunction tuned(Function function) noexcept {
    switch (function) {
        MPIRIC_TUNED_FORMS(Barrier, Ibarrier, barrier, Synchronisation)
        MPIRIC_TUNED_COUNTS(Allreduce, Iallreduce, allreduce, Reduction)
        MPIRIC_TUNED_COUNTS(Reduce, Ireduce, reduce, RootedReduction)
        MPIRIC_TUNED_COUNTS(Bcast, Ibcast, bcast, Broadcast)
        MPIRIC_TUNED_COUNTS(Allgather, Iallgather, allgather, Exchange)
        MPIRIC_TUNED_COUNTS(Alltoall, Ialltoall, alltoall, Exchange)
        MPIRIC_TUNED_COUNTS(Allgatherv, Iallgatherv, allgatherv, UnevenGathering)
        MPIRIC_TUNED_COUNTS(Alltoallv, Ialltoallv, alltoallv, UnevenExchange)
        MPIRIC_TUNED_COUNTS(Gather, Igather, gather, Rooted)
        MPIRIC_TUNED_COUNTS(Scatter, Iscatter, scatter, Rooted)
        MPIRIC_TUNED_COUNTS(Gatherv, Igatherv, gatherv, UnevenRootedGathering)
        MPIRIC_TUNED_COUNTS(Scatterv, Iscatterv, scatterv, UnevenScattering)
        MPIRIC_TUNED_COUNTS(Reduce_scatter, Ireduce_scatter, reduce_scatter, ScatteredReduction)
        MPIRIC_TUNED_COUNTS(Reduce_scatter_block, Ireduce_scatter_block, reduce_scatter_block, Reduction)
        MPIRIC_TUNED_COUNTS(Scan, Iscan, scan, Reduction)
        MPIRIC_TUNED_COUNTS(Exscan, Iexscan, exscan, Reduction)
        MPIRIC_FREEING(MPI_Comm_free, MPI_Comm)
        MPIRIC_FREEING(MPI_Comm_disconnect, MPI_Comm)
        MPIRIC_FREEING(MPI_Type_free, MPI_Datatype)
    default:
        return {};
    }
}

void insert_tuned(Function function, symbols::NextFunction& following) noexcept {
    untuned[uint32_t(function)] = following;
    following = tuned(function);
}

}  // namespace mpiric::select
