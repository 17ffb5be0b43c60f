// Bruck, with a radix. Cells travel by the digits of their distance: in the round of a digit's place, all
// cells with digit d go d·k^place ranks on, in one message. A rotation before and after.
//
// Cost: (k − 1)⌈log_k p⌉ α + about mp/2 ⌈log₂ p⌉ β for k = 2 and cells of m bytes. Best for short cells on
// many ranks. Bruck et al.: Efficient Algorithms for All-to-All Communications in Multiport Message-Passing
// Systems. IEEE TPDS 8(11), 1997.
#include "coll/alltoall/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll::alltoall_bruck {

template <int radix> int run(const Arguments& call) {
    Rows rows{call};
    MPIRIC_TRY(rows.begin());
    const int size = call.team.size(), me = call.team.rank();
    const uint64_t block = rows.block(), whole = block * uint64_t(size);
    const Scratch turned{whole}, out{whole}, in{whole};
    if (!turned.data() || !out.data() || !in.data())
        return MPI_ERR_NO_MEM;
    auto cell = [&](int distance) { return turned.data() + block * uint64_t(distance); };
    for (int distance = 0; distance < size; ++distance)
        std::memcpy(cell(distance), rows.out((me + distance) % size), block);
    for (int place = 1; place < size; place *= radix) {
        Requests round{size_t(2 * radix)};
        uint64_t at = 0;
        for (int digit = 1; digit < radix && digit * place < size; ++digit) {
            const uint64_t begin = at;
            for (int distance = digit * place; distance < size; ++distance)
                if (distance / place % radix == digit) {
                    std::memcpy(out.data() + at, cell(distance), block);
                    at += block;
                }
            const int step = digit * place % size;
            MPIRIC_TRY(round.receive(call.team, in.data() + begin, at - begin, (me - step + size) % size));
            MPIRIC_TRY(round.send(call.team, out.data() + begin, at - begin, (me + step) % size));
        }
        MPIRIC_TRY(round.wait());
        at = 0;
        for (int digit = 1; digit < radix && digit * place < size; ++digit)
            for (int distance = digit * place; distance < size; ++distance)
                if (distance / place % radix == digit) {
                    std::memcpy(cell(distance), in.data() + at, block);
                    at += block;
                }
    }
    for (int distance = 0; distance < size; ++distance)
        std::memcpy(rows.in((me - distance + size) % size), cell(distance), block);
    return rows.end();
}

uint64_t scratch(const Workload& workload) { return two_rows(workload) / 2 * 5; }

MPIRIC_ALGORITHMS({Collective::alltoall, "bruck_2", "Bruck et al. 1997", nullptr, scratch, run<2>},
                  {Collective::alltoall, "bruck_4", "Bruck et al. 1997", on_more_than<2>, scratch, run<4>},
                  {Collective::alltoall, "bruck_8", "Bruck et al. 1997", on_more_than<4>, scratch, run<8>})

}  // namespace mpiric::coll::alltoall_bruck
