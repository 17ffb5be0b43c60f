// Linear. Each rank sends its block to the root, which has all receives under way at once.
//
// Cost: α + (p − 1) mβ at the root. Best for long blocks and few ranks; the form for uneven blocks.
// Thakur, Gropp: Improving the Performance of Collective Operations in MPICH. EuroPVM/MPI 2003.
#include "coll/blocks.hpp"
#include "coll/buffers.hpp"

namespace mpiric::coll::gather_linear {

int run(const Arguments& call) {
    const Team& team = call.team;
    if (team.rank() != call.root)
        return send(team, call.send, call.send_count, call.send_type, call.root);
    const RankBlocks<char> blocks = received_by(call);
    Requests coming{size_t(team.size())};
    for (int step = 1; step < team.size(); ++step) {
        const int rank = (call.root + step) % team.size();
        MPIRIC_TRY(coming.receive(team, blocks.at(rank), blocks.count(rank), blocks.type(), rank));
    }
    if (call.send != MPI_IN_PLACE)
        MPIRIC_TRY(copy(team, call.send, call.send_count, call.send_type, blocks.at(call.root),
                        blocks.count(call.root), blocks.type()));
    return coming.wait();
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::gatherv,
                          {Collective::gather, "linear", "Thakur, Gropp 2003", nullptr, nullptr, run})

}  // namespace mpiric::coll::gather_linear
