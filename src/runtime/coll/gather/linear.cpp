// Linear. Each rank sends its block to the root, which has all receives under way at once.
//
// Cost: α + (p − 1) mβ at the root. Best for long blocks and few ranks; the form for uneven blocks.
// Thakur, Gropp: Improving the Performance of Collective Operations in MPICH. EuroPVM/MPI 2003.
#include "coll/buffers.hpp"

namespace mpiric::coll {
namespace {

int run(const Call& call) {
    const Team& team = call.team;
    if (team.rank() != call.root)
        return send(team, call.send, call.send_count, call.send_type, call.root);
    const MPI_Aint extent = geometry_of(call.receive_type).extent;
    auto count = [&](int rank) {
        return call.receive_counts ? call.receive_counts[rank] : call.receive_count;
    };
    auto block = [&](int rank) {
        const MPI_Count at = call.receive_counts ? call.receive_places[rank] : call.receive_count * rank;
        return static_cast<char*>(call.receive) + extent * MPI_Aint(at);
    };
    Requests coming{size_t(team.size())};
    for (int step = 1; step < team.size(); ++step) {
        const int rank = (call.root + step) % team.size();
        MPIRIC_TRY(coming.receive(team, block(rank), count(rank), call.receive_type, rank));
    }
    if (call.send != MPI_IN_PLACE)
        MPIRIC_TRY(copy(team, call.send, call.send_count, call.send_type, block(call.root), count(call.root),
                        call.receive_type));
    return coming.wait();
}

constinit const Algorithm algorithm{
    Collective::gather, "linear", "Thakur, Gropp 2003", Order::none, nullptr, nullptr, run};
constinit const Algorithm varied{
    Collective::gatherv, "linear", "Thakur, Gropp 2003", Order::none, nullptr, nullptr, run};
MPIRIC_ALGORITHM(algorithm)
MPIRIC_ALGORITHM(varied)

}  // namespace
}  // namespace mpiric::coll
