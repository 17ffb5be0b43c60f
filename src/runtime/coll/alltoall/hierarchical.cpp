// Nodes first. The ranks of a node show all their cells to their leader in shared memory; leaders exchange
// one message per pair of nodes; each leader then shows its node what has come. Between nodes there are N − 1
// messages per leader in place of p − 1 per rank.
//
// Cost: (N − 1)(α + L²mβ) per leader for N nodes of L ranks and cells of m bytes, and four copies in memory.
// Best for short cells. Träff, Rougier: MPI Collectives and Datatypes for Hierarchical All-to-all
// Communication. EuroMPI 2014.
#include "coll/alltoall/stages.hpp"

#include "coll/gather/stages.hpp"
#include "coll/scatter/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {
namespace {

/// Exchanges whole nodes' cells. `have` holds the rows of this node's ranks; `get` gets, for each rank of the
/// node, the cells for it in the order of ranks.
int between_nodes(const Team& team, uint64_t block, const char* have, char* get) {
    const int ranks = team.size(), local = team.local().size, nodes = team.leaders().size;
    const uint64_t row = block * uint64_t(ranks),
                   most = block * uint64_t(team.layout().most_per_node) * uint64_t(local);
    const Scratch out{most}, in{most};
    if (!out.data() || !in.data())
        return MPI_ERR_NO_MEM;
    for (int step = 0; step < nodes; ++step) {
        const int to = (team.node() + step) % nodes, from = (team.node() + nodes - step) % nodes;
        const Group there = team.on_node(to), others = team.on_node(from);
        char* at = out.data();
        for (int reader = 0; reader < there.size; ++reader)
            for (int writer = 0; writer < local; ++writer, at += block)
                std::memcpy(at, have + row * uint64_t(writer) + block * uint64_t(there[reader]), block);
        const uint64_t sent = block * uint64_t(there.size) * uint64_t(local),
                       got = block * uint64_t(others.size) * uint64_t(local);
        if (step == 0) {
            std::memcpy(in.data(), out.data(), sent);
        } else {
            MPIRIC_TRY(
                exchange(team, out.data(), sent, team.leaders()[to], in.data(), got, team.leaders()[from]));
        }
        const char* come = in.data();
        for (int reader = 0; reader < local; ++reader)
            for (int writer = 0; writer < others.size; ++writer, come += block)
                std::memcpy(get + row * uint64_t(reader) + block * uint64_t(others[writer]), come, block);
    }
    return MPI_SUCCESS;
}

int run(const Call& call) {
    Rows rows{call};
    MPIRIC_TRY(rows.begin());
    const Team& team = call.team;
    const int local = team.local().size, me = team.local().rank;
    const uint64_t row = rows.block() * uint64_t(team.size());
    const bool leads = me == 0;
    const Scratch have{leads || local > 1 ? row * uint64_t(leads ? local : me + 1) : 0},
        get{leads ? row * uint64_t(local) : 0};
    if (!have.data() || !get.data())
        return MPI_ERR_NO_MEM;
    const Blocks each = Blocks::equal(row);
    std::memcpy(have.data() + row * uint64_t(me), rows.out(0), row);
    if (local > 1)
        MPIRIC_TRY(shared_gather(team, 0, have.data(), each));
    if (leads)
        MPIRIC_TRY(between_nodes(team, rows.block(), have.data(), get.data()));
    if (local > 1) {
        MPIRIC_TRY(shared_scatter(team, 0, get.data(), rows.in(0), each));
    } else {
        std::memcpy(rows.in(0), get.data(), row);
    }
    return rows.end();
}

bool suits(const Shape& shape) { return has_levels(shape); }

uint64_t scratch(const Shape& shape) {
    const uint64_t row = shape.bytes * uint64_t(shape.layout.size),
                   most = uint64_t(shape.layout.most_per_node);
    return two_rows(shape) + 2 * row * most + 2 * shape.bytes * most * most;
}

constinit const Algorithm algorithm{
    Collective::alltoall, "hierarchical", "Träff, Rougier 2014", Order::none, suits, scratch, run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
