// A reduction that travels in segments, each rank adding its own to the received ones.
#pragma once

#include "coll/bcast/pipeline.hpp"
#include "coll/reduce/stages.hpp"

namespace mpiric::coll {

/// All have their operand in `data`, of a dense datatype; segments travel from children to parents. The
/// operation commutes.
inline int reduce_pipeline(const Reduction& reduction, const Neighbours& by, char* data, MPI_Count count,
                           uint64_t segment_bytes) {
    const Team& team = reduction.team();
    const uint64_t element = reduction.geometry().size, bytes = reduction.bytes(count),
                   segment = std::max<uint64_t>(1, segment_bytes / element) * element,
                   end = (bytes + segment - 1) / segment;
    const auto children = uint64_t(by.children[0] != nobody) + uint64_t(by.children[1] != nobody);
    const Scratch come{children * Coming::ahead * segment};
    if (!come.data())
        return MPI_ERR_NO_MEM;
    const auto size = [&](uint64_t number) { return std::min(segment, bytes - number * segment); };
    const auto place = [&](uint64_t child, uint64_t number) {
        return come.data() + (child * Coming::ahead + number % Coming::ahead) * segment;
    };
    Coming coming[2] = {{0, 1, children > 0 ? end : 0}, {0, 1, children > 1 ? end : 0}};
    const auto post = [&](uint64_t child) {
        return coming[child].post(team, by.children[child], 0, [&](uint64_t number) {
            return std::pair{place(child, number), size(number)};
        });
    };
    Requests sent{size_t(end)};
    MPIRIC_TRY(post(0));
    MPIRIC_TRY(post(1));
    for (uint64_t number = 0; number < end; ++number) {
        char* own = data + number * segment;
        for (uint64_t child = 0; child < children; ++child) {
            MPIRIC_TRY(world::complete({&coming[child].first(), 1}));
            MPIRIC_TRY(reduction.reduce(place(child, number), own, MPI_Count(size(number) / element)));
            coming[child].take();
            MPIRIC_TRY(post(child));
        }
        if (by.parent != nobody)
            MPIRIC_TRY(sent.send(team, own, size(number), by.parent));
    }
    return sent.wait();
}

/// Runs that on a copy of the operand.
inline int reduce_pipeline(const Arguments& call, const Neighbours& by, uint64_t segment_bytes) {
    return on_a_copy(call, [&](const Reduction& reduction, char* data) {
        return reduce_pipeline(reduction, by, data, call.receive_count, segment_bytes);
    });
}

/// Bytes of scratch memory that on_a_copy() and a pipeline take.
template <uint64_t segment_bytes> uint64_t copy_and_segments(const Workload& workload) noexcept {
    return workload.span + 2 * Coming::ahead * std::max(segment_bytes, workload.span / workload.count);
}

/// Several segments, joined in an order of their own.
template <uint64_t segment_bytes> bool has_segments(const Workload& workload) noexcept {
    return workload.commutative && workload.dense && workload.bytes > segment_bytes;
}

}  // namespace mpiric::coll
