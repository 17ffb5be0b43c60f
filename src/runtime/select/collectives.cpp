// The functions that the tuner puts before the library's: collectives, and functions that free handles.
#include "select/comm_state.hpp"
#include "select/dispatch.hpp"
#include "select/tuner.hpp"
#include "symbols/function_table.hpp"
#include "world/datatypes.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace mpiric::select {

namespace {

/// The functions behind the tuner's.
constinit symbols::NextFunction untuned[symbols::function_count];

using symbols::Function;

template <class Count> constexpr Amount amount(MPI_Datatype type, Count count, MPI_Op op = {}) noexcept {
    return {count > 0 ? uint64_t(count) : 0, type, 1, op};
}
constexpr Amount unsized{0, {}, 1, {}, true};

template <class Count> uint64_t sum_of(const Count counts[], const CommState& state) noexcept {
    uint64_t sum = 0;
    for (int at = 0; counts && at < state.size; ++at)
        sum += counts[at] > 0 ? uint64_t(counts[at]) : 0;
    return sum;
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
template <Function function, Collective collective, class Fields, class Pointer> struct Tuned;

template <Function function, Collective collective, auto... fields, class... Arguments>
struct Tuned<function, collective, Parameters<fields...>, int (*)(Arguments...)> {
    /// Calls for which the cached entry of their size says `library` go on there at once, counted, without a
    /// lock, a clock, or a function that would take the arguments out of their registers. Others are
    /// dispatched.
    template <bool by_profiling_name> static int call(Arguments... arguments) {
        const void* const given[] = {static_cast<const void*>(&arguments)...};
        const auto is_for_library = [&] {
            if (thread.dispatching)
                return true;
            if constexpr (form_of(collective) == Form::blocking) {
                const auto comm = argument<comm_at>(given);
                const CachedCommState& cached = cached_comm_state(comm);
                if (cached.comm != comm ||
                    cached.generation != world::caches.generation.load(std::memory_order_acquire))
                    return false;
                if (!cached.state)
                    return true;
                const Amount moved = measure(given, *cached.state);
                const uint64_t bytes = moved.unsized ? 0 : moved.elements * world::cached_size(moved.type);
                if ((!moved.unsized && bytes == 0) || cached.state->agrees_next)
                    return false;
                Entry& entry =
                    cached.state->group->blocking.entry(collective, tune::class_of(bytes / moved.shares));
                if (entry.choice == Choice::library) {
                    ++entry.calls;
                    return true;
                }
            }
            return false;
        };
        if (is_for_library()) [[likely]]
            return next_function(by_profiling_name)(arguments...);
        return dispatch_call<by_profiling_name>(arguments...);
    }

  private:
    static constexpr size_t comm_at = sizeof...(fields);

    template <size_t at> static auto argument(const void* const* given) {
        return *static_cast<const std::tuple_element_t<at, std::tuple<Arguments...>>*>(given[at]);
    }
    template <auto field> static auto value(const void* const* given) {
        return argument<position<field>(Parameters<fields...>{})>(given);
    }

    [[gnu::always_inline]] static Amount measure([[maybe_unused]] const void* const* given,
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

    static auto next_function(bool to_library) {
        return reinterpret_cast<int (*)(Arguments...)>(untuned[uint32_t(function)].of(to_library));
    }

    template <size_t at> static auto on(const void* const* given, MPI_Comm comm) {
        if constexpr (at == comm_at)
            return comm;
        else
            return argument<at>(given);
    }
    static int next(const void* const* given, bool to_library, MPI_Comm comm) {
        return [&]<size_t... at>(std::index_sequence<at...>) {
            return next_function(to_library)(on<at>(given, comm)...);
        }(std::index_sequence_for<Arguments...>());
    }
    static void fill([[maybe_unused]] const void* const* given, [[maybe_unused]] coll::Arguments& call) {
        ((call.*fields = value<fields>(given)), ...);
    }

    /// Out of the way of the calls that are not dispatched.
    template <bool by_profiling_name> [[gnu::noinline]] static int dispatch_call(Arguments... arguments) {
        constexpr size_t root = position<&A::root>(Parameters<fields...>{});
        static constexpr TunedFunction tuned{
            collective, comm_at, root < comm_at ? root : 0, sizeof...(Arguments) - 1, measure, next, fill};
        const void* const given[] = {static_cast<const void*>(&arguments)...};
        return dispatch(tuned, given, by_profiling_name);
    }
};

template <class Code> void* address(Code* code) noexcept { return reinterpret_cast<void*>(code); }

// Functions that give a handle back. The library may hand the same value out again at once, so all state of
// the handle is dropped before the call.
template <Function function, bool by_profiling_name, class Handle> int give_back(Handle* handle) {
    if constexpr (function == Function::MPI_Type_free)
        world::invalidate_caches();
    else if (handle)
        forget_comm_state(*handle);
    return reinterpret_cast<int (*)(Handle*)>(untuned[uint32_t(function)].of(by_profiling_name))(handle);
}

// The two names of a function that the header has, with its parameters.
#define MPIRIC_TUNED_1(MPI_NAME, collective, Fields)                                                         \
    case Function::MPI_NAME: {                                                                               \
        using Functions = Tuned<Function::MPI_NAME, Collective::collective, Fields, decltype(&P##MPI_NAME)>; \
        return {address(&Functions::call<false>), address(&Functions::call<true>)};                          \
    }
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
        return {address(&give_back<Function::MPI_NAME, false, Handle>),                                      \
                address(&give_back<Function::MPI_NAME, true, Handle>)};

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
