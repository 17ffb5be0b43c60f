// Neighbour exchange. Even ranks exchange with their right, odd ones with their left neighbour, then the
// other way about, each time the two blocks that came last. For even p.
//
// Cost: p/2 α + (p − 1) mβ for blocks of m bytes: half the messages of a ring. Best for middling blocks.
// Chen, Zhang, Yuan: Performance Evaluation of Allgather Algorithms on Terascale Linux Cluster with Fast
// Ethernet. HPC Asia 2005.
#include "coll/allgather/stages.hpp"

namespace mpiric::coll {
namespace allgather_neighbour_exchange {

int run(const Call& call) {
    Gathering gathering{call};
    MPIRIC_TRY(gathering.begin());
    const Blocks& blocks = gathering.blocks();
    const int size = call.team.size(), me = call.team.rank();
    auto around = [&](int rank) { return (rank % size + size) % size; };
    const bool even = me % 2 == 0;
    const int neighbour[2] = {around(even ? me + 1 : me - 1), around(even ? me - 1 : me + 1)};
    MPIRIC_TRY(exchange(call.team, gathering.data() + blocks.begin(me), blocks.size(me), neighbour[0],
                        gathering.data() + blocks.begin(neighbour[0]), blocks.size(neighbour[0]),
                        neighbour[0]));
    // From then on pairs of blocks travel; those of even and odd ranks come from opposite sides in turn.
    auto pair_of_step = [&](int step) {
        const int away = (step + 1) / 2;
        return 2 * (me / 2) + 2 * ((step % 2 == 1) == even ? -away : away);
    };
    int out = around(pair_of_step(0));
    for (int step = 1; step < size / 2; ++step) {
        const int peer = neighbour[step % 2], in = around(pair_of_step(step));
        MPIRIC_TRY(exchange(
            call.team, gathering.data() + blocks.begin(out), blocks.begin(out + 2) - blocks.begin(out), peer,
            gathering.data() + blocks.begin(in), blocks.begin(in + 2) - blocks.begin(in), peer));
        out = in;
    }
    return gathering.end();
}

bool suits(const Shape& shape) { return shape.layout.size % 2 == 0 && shape.layout.size > 2; }

constinit const Algorithm registered[] = {
    {Collective::allgather, "neighbour_exchange", "Chen et al. 2005", Order::none, suits, gathering_scratch,
     run},
    {Collective::allgatherv, "neighbour_exchange", "Chen et al. 2005", Order::none, suits, gathering_scratch,
     run},
};
MPIRIC_ALGORITHMS(registered)

}  // namespace allgather_neighbour_exchange
}  // namespace mpiric::coll
