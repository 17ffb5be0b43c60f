// Linear. The root sends each rank its block, all of them under way at once.
//
// Cost: α + (p − 1) mβ at the root. Best for long blocks and few ranks; the form for uneven blocks.
// Thakur, Gropp: Improving the Performance of Collective Operations in MPICH. EuroPVM/MPI 2003.
#include "coll/blocks.hpp"
#include "coll/buffers.hpp"

namespace mpiric::coll::scatter_linear {

int run(const Arguments& call) {
    const Team& team = call.team;
    if (team.rank() != call.root)
        return receive(team, call.receive, call.receive_count, call.receive_type, call.root);
    const RankBlocks<const char> blocks = sent_by(call);
    Requests sent{size_t(team.size())};
    for (int step = 1; step < team.size(); ++step) {
        const int rank = (call.root + step) % team.size();
        MPIRIC_TRY(sent.send(team, blocks.at(rank), blocks.count(rank), blocks.type(), rank));
    }
    if (call.receive != MPI_IN_PLACE)
        MPIRIC_TRY(copy(team, blocks.at(call.root), blocks.count(call.root), blocks.type(), call.receive,
                        call.receive_count, call.receive_type));
    return sent.wait();
}

MPIRIC_ALGORITHMS_OF_BOTH(Collective::scatterv,
                          {Collective::scatter, "linear", "Thakur, Gropp 2003", nullptr, nullptr, run})

}  // namespace mpiric::coll::scatter_linear
