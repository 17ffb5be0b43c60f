// Neighbour exchange. Even ranks exchange with their right, odd ones with their left neighbour, then the
// other way about, each time the two blocks that came last. For even p.
//
// Cost: p/2 α + (p − 1) mβ for blocks of m bytes: half the messages of a ring. Best for middling blocks.
// Chen, Zhang, Yuan: Performance Evaluation of Allgather Algorithms on Terascale Linux Cluster with Fast
// Ethernet. HPC Asia 2005.
#include "coll/allgather/stages.hpp"

namespace mpiric::coll::allgather_neighbour_exchange {

int meet_neighbours(const Team& team, const Group& group, char* data, const Blocks& blocks) {
    const int size = group.size, me = group.rank;
    auto around = [&](int rank) { return (rank % size + size) % size; };
    const bool even = me % 2 == 0;
    const int neighbour[2] = {around(even ? me + 1 : me - 1), around(even ? me - 1 : me + 1)};
    MPIRIC_TRY(exchange(team, data + blocks.begin(me), blocks.size(me), group[neighbour[0]],
                        data + blocks.begin(neighbour[0]), blocks.size(neighbour[0]), group[neighbour[0]]));
    // From then on pairs of blocks travel; pairs of even and odd ranks come from opposite sides in turn.
    auto pair_of_step = [&](int step) {
        const int away = (step + 1) / 2;
        return 2 * (me / 2) + 2 * ((step % 2 == 1) == even ? -away : away);
    };
    int out = around(pair_of_step(0));
    for (int step = 1; step < size / 2; ++step) {
        const int peer = neighbour[step % 2], in = around(pair_of_step(step));
        MPIRIC_TRY(exchange(team, data + blocks.begin(out), blocks.begin(out + 2) - blocks.begin(out),
                            group[peer], data + blocks.begin(in), blocks.begin(in + 2) - blocks.begin(in),
                            group[peer]));
        out = in;
    }
    return MPI_SUCCESS;
}

bool suits(const Workload& workload) { return workload.layout.size % 2 == 0 && workload.layout.size > 2; }

MPIRIC_ALGORITHMS_OF_BOTH(Collective::allgatherv,
                          {Collective::allgather, "neighbour_exchange", "Chen et al. 2005", suits,
                           gathering_scratch, on_row_of_all<meet_neighbours>})

}  // namespace mpiric::coll::allgather_neighbour_exchange
