#include "wrap/collectives.hpp"

#include "world/substitute.hpp"
#include "wrap/call.hpp"
#include "wrap/tuner.hpp"

#include <type_traits>

namespace mpiric::wrap {

constinit Behind untuned[function_count];

namespace {

using tune::Collective;
using world::handles;

/// By which of its names a function was called.
enum class Name : uint8_t { plain, profiling };

/// Root of a rooted call when it can be one.
bool is_root(const Space& space, int root) noexcept { return root >= 0 && root < space.size; }

template <class Count> uint64_t sum_of(const Count counts[], const Space& space) noexcept {
    uint64_t sum = 0;
    for (int at = 0; counts && at < space.size; ++at)
        sum += counts[at] > 0 ? uint64_t(counts[at]) : 0;
    return sum;
}

/// Sizes of a call: what policies speak of, what our algorithms speak of, and elements for reductions. A call
/// that nothing is known of, or that moves nothing, is `left` to the library.
struct Extent {
    uint64_t bytes = 0, all_bytes = 0, count = 0;
    MPI_Datatype type{};
    MPI_Op op{};
    bool left = false;
};

template <class Count> Extent block(MPI_Datatype type, Count count) noexcept {
    const uint64_t bytes = payload(type, count);
    return {bytes, bytes, 0, type, {}, bytes == 0};
}
template <class Count> Extent reduction(MPI_Datatype type, Count count, MPI_Op op) noexcept {
    const uint64_t bytes = payload(type, count);
    return {bytes, bytes, uint64_t(count), type, op, bytes == 0 || op == handles.op_null};
}
constexpr Extent unsized{};

/// The body of all: a look at the table, and on to the library or to the tuner.
template <Function function, Name name, Collective collective, class Pointer, class Measure, class Onward,
          class Fill>
[[gnu::always_inline]] inline int tune_call(MPI_Comm comm, int root, Measure&& measure, Onward&& onward,
                                            Fill&& fill) {
    const auto next = [&](bool to_library, MPI_Comm on) {
        const Behind& there = untuned[uint32_t(function)];
        return onward(
            reinterpret_cast<Pointer>(to_library || name == Name::profiling ? there.library : there.next),
            on);
    };
    if (thread.answering) [[unlikely]]
        return next(false, comm);
    Space* space = space_of(comm);
    if (!space)
        return next(false, comm);
    const Extent extent = measure(*space);
    if (extent.left || !is_root(*space, root))
        return next(false, comm);
    Entry& entry = space->knowledge->entries[uint32_t(collective)][tune::class_of(extent.bytes)];
    ++entry.calls;
    if (entry.choice == Entry::library) [[likely]]
        return next(false, comm);
    struct Both {
        decltype(next)& onward;
        Fill& fill;
    } both{next, fill};
    Ask ask{collective,
            comm,
            extent.bytes,
            extent.all_bytes,
            extent.count,
            extent.type,
            extent.op,
            root,
            true,
            &both,
            [](const void* arguments, bool to_library, MPI_Comm on) {
                return static_cast<const Both*>(arguments)->onward(to_library, on);
            },
            [](const void* arguments, coll::Call& call) { static_cast<const Both*>(arguments)->fill(call); }};
    return answer(*space, entry, ask);
}

template <Function function, Name name, class Count>
int allreduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return tune_call<function, name, Collective::allreduce, decltype(&allreduce<function, name, Count>)>(
        comm, 0, [&](const Space&) { return reduction(type, count, op); },
        [&](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, on); },
        [&](coll::Call& call) {
            call.send = send, call.receive = receive, call.receive_count = count, call.receive_type = type,
            call.op = op;
        });
}

template <Function function, Name name, Collective collective, class Count>
int scan(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return tune_call<function, name, collective, decltype(&scan<function, name, collective, Count>)>(
        comm, 0, [&](const Space&) { return reduction(type, count, op); },
        [&](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, on); },
        [&](coll::Call& call) {
            call.send = send, call.receive = receive, call.receive_count = count, call.receive_type = type,
            call.op = op;
        });
}

template <Function function, Name name, class Count>
int reduce(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm) {
    return tune_call<function, name, Collective::reduce, decltype(&reduce<function, name, Count>)>(
        comm, root, [&](const Space&) { return reduction(type, count, op); },
        [&](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, root, on); },
        [&](coll::Call& call) {
            call.send = send, call.receive_count = count, call.receive_type = type, call.op = op;
            call.receive = receive;
        });
}

template <Function function, Name name, class Count>
int bcast(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
    return tune_call<function, name, Collective::bcast, decltype(&bcast<function, name, Count>)>(
        comm, root, [&](const Space&) { return block(type, count); },
        [&](auto* next, MPI_Comm on) { return next(buffer, count, type, root, on); },
        [&](coll::Call& call) {
            call.receive = buffer, call.receive_count = count, call.receive_type = type;
        });
}

template <Function function, Name name> int barrier(MPI_Comm comm) {
    return tune_call<function, name, Collective::barrier, decltype(&barrier<function, name>)>(
        comm, 0, [](const Space&) { return unsized; }, [](auto* next, MPI_Comm on) { return next(on); },
        [](coll::Call&) {});
}

/// Allgather and alltoall: every rank gives all of it.
template <Function function, Name name, Collective collective, class Count>
int exchange(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
             MPI_Datatype receive_type, MPI_Comm comm) {
    return tune_call<function, name, collective, decltype(&exchange<function, name, collective, Count>)>(
        comm, 0, [&](const Space&) { return block(receive_type, receive_count); },
        [&](auto* next, MPI_Comm on) {
            return next(send, send_count, send_type, receive, receive_count, receive_type, on);
        },
        [&](coll::Call& call) {
            call.send = send, call.receive = receive;
            call.send_count = send_count, call.receive_count = receive_count;
            call.send_type = send_type, call.receive_type = receive_type;
        });
}

template <Function function, Name name, class Count, class Place>
int allgatherv(const void* send, Count send_count, MPI_Datatype send_type, void* receive,
               const Count counts[], const Place places[], MPI_Datatype type, MPI_Comm comm) {
    return tune_call<function, name, Collective::allgatherv,
                     decltype(&allgatherv<function, name, Count, Place>)>(
        comm, 0,
        [&](const Space& space) {
            const uint64_t all = payload(type, sum_of(counts, space));
            return Extent{all / uint64_t(space.size), all, 0, type, {}, all == 0};
        },
        [&](auto* next, MPI_Comm on) {
            return next(send, send_count, send_type, receive, counts, places, type, on);
        },
        [&](coll::Call& call) {
            call.send = send, call.send_count = send_count, call.send_type = send_type;
            call.receive = receive, call.receive_counts = counts, call.receive_places = places;
            call.receive_type = type;
        });
}

template <Function function, Name name, class Count, class Place>
int alltoallv(const void* send, const Count send_counts[], const Place send_places[], MPI_Datatype send_type,
              void* receive, const Count counts[], const Place places[], MPI_Datatype type, MPI_Comm comm) {
    return tune_call<function, name, Collective::alltoallv,
                     decltype(&alltoallv<function, name, Count, Place>)>(
        comm, 0, [](const Space&) { return unsized; },
        [&](auto* next, MPI_Comm on) {
            return next(send, send_counts, send_places, send_type, receive, counts, places, type, on);
        },
        [&](coll::Call& call) {
            call.send = send, call.send_counts = send_counts, call.send_places = send_places;
            call.send_type = send_type;
            call.receive = receive, call.receive_counts = counts, call.receive_places = places;
            call.receive_type = type;
        });
}

/// Gather and scatter: of the two sides only one counts on a rank that is not the root.
template <Function function, Name name, class Count>
int gather(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
           MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const auto at_root = [&](const Space& space) { return space.rank == root; };
    return tune_call<function, name, Collective::gather, decltype(&gather<function, name, Count>)>(
        comm, root,
        [&](const Space& space) {
            return at_root(space) ? block(receive_type, receive_count) : block(send_type, send_count);
        },
        [&](auto* next, MPI_Comm on) {
            return next(send, send_count, send_type, receive, receive_count, receive_type, root, on);
        },
        [&](coll::Call& call) {
            call.send = send, call.send_count = send_count, call.send_type = send_type;
            call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
        });
}

template <Function function, Name name, class Count>
int scatter(const void* send, Count send_count, MPI_Datatype send_type, void* receive, Count receive_count,
            MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const auto at_root = [&](const Space& space) { return space.rank == root; };
    return tune_call<function, name, Collective::scatter, decltype(&scatter<function, name, Count>)>(
        comm, root,
        [&](const Space& space) {
            return at_root(space) ? block(send_type, send_count) : block(receive_type, receive_count);
        },
        [&](auto* next, MPI_Comm on) {
            return next(send, send_count, send_type, receive, receive_count, receive_type, root, on);
        },
        [&](coll::Call& call) {
            call.send = send, call.send_count = send_count, call.send_type = send_type;
            call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
        });
}

template <Function function, Name name, class Count, class Place>
int gatherv(const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count counts[],
            const Place places[], MPI_Datatype type, int root, MPI_Comm comm) {
    return tune_call<function, name, Collective::gatherv, decltype(&gatherv<function, name, Count, Place>)>(
        comm, root, [](const Space&) { return unsized; },
        [&](auto* next, MPI_Comm on) {
            return next(send, send_count, send_type, receive, counts, places, type, root, on);
        },
        [&](coll::Call& call) {
            call.send = send, call.send_count = send_count, call.send_type = send_type;
            call.receive = receive, call.receive_counts = counts, call.receive_places = places;
            call.receive_type = type;
        });
}

template <Function function, Name name, class Count, class Place>
int scatterv(const void* send, const Count counts[], const Place places[], MPI_Datatype send_type,
             void* receive, Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    return tune_call<function, name, Collective::scatterv, decltype(&scatterv<function, name, Count, Place>)>(
        comm, root, [](const Space&) { return unsized; },
        [&](auto* next, MPI_Comm on) {
            return next(send, counts, places, send_type, receive, receive_count, receive_type, root, on);
        },
        [&](coll::Call& call) {
            call.send = send, call.send_counts = counts, call.send_places = places,
            call.send_type = send_type;
            call.receive = receive, call.receive_count = receive_count, call.receive_type = receive_type;
        });
}

template <Function function, Name name, class Count>
int reduce_scatter(const void* send, void* receive, const Count counts[], MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm) {
    return tune_call<function, name, Collective::reduce_scatter,
                     decltype(&reduce_scatter<function, name, Count>)>(
        comm, 0,
        [&](const Space& space) {
            Extent extent = reduction(type, sum_of(counts, space), op);
            extent.bytes /= uint64_t(space.size);
            return extent;
        },
        [&](auto* next, MPI_Comm on) { return next(send, receive, counts, type, op, on); },
        [&](coll::Call& call) {
            call.send = send, call.receive = receive, call.receive_counts = counts, call.receive_type = type;
            call.op = op;
        });
}

template <Function function, Name name, class Count>
int reduce_scatter_block(const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
    return tune_call<function, name, Collective::reduce_scatter_block,
                     decltype(&reduce_scatter_block<function, name, Count>)>(
        comm, 0, [&](const Space&) { return reduction(type, count, op); },
        [&](auto* next, MPI_Comm on) { return next(send, receive, count, type, op, on); },
        [&](coll::Call& call) {
            call.send = send, call.receive = receive, call.receive_count = count, call.receive_type = type,
            call.op = op;
        });
}

template <class Code> void* address(Code* code) noexcept { return reinterpret_cast<void*>(code); }

// The two names of one function. The rest of the list are the arguments of the template.
#define MPIRIC_TUNED(MPI_NAME, body, ...)                                                                    \
    case Function::MPI_NAME:                                                                                 \
        return {address(&body<Function::MPI_NAME, Name::plain __VA_OPT__(, ) __VA_ARGS__>),                  \
                address(&body<Function::MPI_NAME, Name::profiling __VA_OPT__(, ) __VA_ARGS__>)};

}  // namespace

Behind tuned(Function function) noexcept {
    switch (function) {
        MPIRIC_TUNED(MPI_Allreduce, allreduce, int)
        MPIRIC_TUNED(MPI_Reduce, reduce, int)
        MPIRIC_TUNED(MPI_Bcast, bcast, int)
        MPIRIC_TUNED(MPI_Barrier, barrier)
        MPIRIC_TUNED(MPI_Allgather, exchange, Collective::allgather, int)
        MPIRIC_TUNED(MPI_Alltoall, exchange, Collective::alltoall, int)
        MPIRIC_TUNED(MPI_Allgatherv, allgatherv, int, int)
        MPIRIC_TUNED(MPI_Alltoallv, alltoallv, int, int)
        MPIRIC_TUNED(MPI_Gather, gather, int)
        MPIRIC_TUNED(MPI_Scatter, scatter, int)
        MPIRIC_TUNED(MPI_Gatherv, gatherv, int, int)
        MPIRIC_TUNED(MPI_Scatterv, scatterv, int, int)
        MPIRIC_TUNED(MPI_Reduce_scatter, reduce_scatter, int)
        MPIRIC_TUNED(MPI_Reduce_scatter_block, reduce_scatter_block, int)
        MPIRIC_TUNED(MPI_Scan, scan, Collective::scan, int)
        MPIRIC_TUNED(MPI_Exscan, scan, Collective::exscan, int)
#if MPIRIC_HAS_MPI_Allreduce_c
        MPIRIC_TUNED(MPI_Allreduce_c, allreduce, MPI_Count)
        MPIRIC_TUNED(MPI_Reduce_c, reduce, MPI_Count)
        MPIRIC_TUNED(MPI_Bcast_c, bcast, MPI_Count)
        MPIRIC_TUNED(MPI_Allgather_c, exchange, Collective::allgather, MPI_Count)
        MPIRIC_TUNED(MPI_Alltoall_c, exchange, Collective::alltoall, MPI_Count)
        MPIRIC_TUNED(MPI_Allgatherv_c, allgatherv, MPI_Count, MPI_Aint)
        MPIRIC_TUNED(MPI_Alltoallv_c, alltoallv, MPI_Count, MPI_Aint)
        MPIRIC_TUNED(MPI_Gather_c, gather, MPI_Count)
        MPIRIC_TUNED(MPI_Scatter_c, scatter, MPI_Count)
        MPIRIC_TUNED(MPI_Gatherv_c, gatherv, MPI_Count, MPI_Aint)
        MPIRIC_TUNED(MPI_Scatterv_c, scatterv, MPI_Count, MPI_Aint)
        MPIRIC_TUNED(MPI_Reduce_scatter_c, reduce_scatter, MPI_Count)
        MPIRIC_TUNED(MPI_Reduce_scatter_block_c, reduce_scatter_block, MPI_Count)
        MPIRIC_TUNED(MPI_Scan_c, scan, Collective::scan, MPI_Count)
        MPIRIC_TUNED(MPI_Exscan_c, scan, Collective::exscan, MPI_Count)
#endif
    default:
        return {};
    }
}

}  // namespace mpiric::wrap
