// Pipelined chain. The partial result travels from rank to rank in segments and grows.
//
// Cost: (p − 2 + n/s)(α + sβ + sγ) for segments of s bytes. Best for long vectors on few ranks.
// Sanders, Träff: Parallel Prefix (Scan) Algorithms for MPI. EuroPVM/MPI 2006.
#include "coll/reduction.hpp"
#include "coll/suits.hpp"

#include <algorithm>

namespace mpiric::coll::scan_linear {

constexpr uint64_t segment_bytes = 64 << 10;

template <bool inclusive> int run(const Arguments& call) {
    const Reduction reduction{call.team, call.receive_type, call.op};
    const MPI_Count count = call.receive_count;
    const int size = call.team.size(), me = call.team.rank();
    const uint64_t extent = std::max<uint64_t>(1, uint64_t(std::abs(reduction.geometry().extent)));
    const MPI_Count most = std::max<MPI_Count>(1, MPI_Count(segment_bytes / extent));
    const Elements onward{reduction, count};
    MPIRIC_TRY(onward.error());
    MPIRIC_TRY(reduction.copy(input_of(call), onward.data(), count));
    if (inclusive && me == 0)
        MPIRIC_TRY(reduction.copy(input_of(call), call.receive, count));
    Requests sent{size_t(count / most + 1)};
    for (MPI_Count done = 0; done < count; done += most) {
        const MPI_Count piece = std::min(most, count - done);
        char* next = reduction.at(onward.data(), done);
        char* result = reduction.at(call.receive, done);
        if (me > 0) {
            MPIRIC_TRY(reduction.receive(result, piece, me - 1));
            MPIRIC_TRY(reduction.reduce(result, next, piece));
            if (inclusive)
                MPIRIC_TRY(reduction.copy(next, result, piece));
        }
        if (me + 1 < size)
            MPIRIC_TRY(sent.send(call.team, next, piece, reduction.type(), me + 1));
    }
    return sent.wait();
}

MPIRIC_ALGORITHMS({Collective::scan, "linear", "Sanders, Träff 2006", nullptr, whole_span, run<true>},
                  {Collective::exscan, "linear", "Sanders, Träff 2006", nullptr, whole_span, run<false>})

}  // namespace mpiric::coll::scan_linear
