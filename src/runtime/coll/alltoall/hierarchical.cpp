// Nodes first. The ranks of a node show all their cells to their leader in shared memory; leaders exchange
// one message per pair of nodes; each leader then shows its node the received cells. Between nodes there are
// N − 1 messages per leader instead of p − 1 per rank.
//
// Cost: (N − 1)(α + L²mβ) per leader for N nodes of L ranks and cells of m bytes, with one α in all when they
// are under way together, and four copies in memory. Best for short cells. Träff, Rougier: MPI Collectives
// and Datatypes for Hierarchical All-to-all Communication. EuroMPI 2014.
#include "coll/alltoall/stages.hpp"

#include "coll/gather/stages.hpp"
#include "coll/scatter/stages.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll::alltoall_hierarchical {

/// Whole nodes' cells on their way. `have` holds the rows of this node's ranks; `get` gets, for each rank of
/// the node, the cells for it in the order of ranks.
class Parcels {
  public:
    Parcels(const Team& team, uint64_t block, const char* have, char* get) noexcept
        : team_(team), block_(block), row_(block * uint64_t(team.size())), have_(have), get_(get) {}

    uint64_t bytes(int node) const noexcept {
        return block_ * uint64_t(team_.on_node(node).size) * uint64_t(team_.local().size);
    }
    void pack(int node, char* at) const noexcept {
        const Group there = team_.on_node(node);
        for (int reader = 0; reader < there.size; ++reader)
            for (int writer = 0; writer < team_.local().size; ++writer, at += block_)
                std::memcpy(at, have_ + row_ * uint64_t(writer) + block_ * uint64_t(there[reader]), block_);
    }
    void unpack(int node, const char* come) const noexcept {
        const Group others = team_.on_node(node);
        for (int reader = 0; reader < team_.local().size; ++reader)
            for (int writer = 0; writer < others.size; ++writer, come += block_)
                std::memcpy(get_ + row_ * uint64_t(reader) + block_ * uint64_t(others[writer]), come, block_);
    }
    const Team& team() const noexcept { return team_; }

  private:
    const Team& team_;
    uint64_t block_, row_;
    const char* have_;
    char* get_;
};

/// One node after the other.
int in_turns(const Parcels& parcels) {
    const Team& team = parcels.team();
    const int nodes = team.leaders().size, me = team.node();
    uint64_t most = 0;
    for (int node = 0; node < nodes; ++node)
        most = std::max(most, parcels.bytes(node));
    const Scratch out{most}, in{most};
    if (!out.data() || !in.data())
        return MPI_ERR_NO_MEM;
    for (int step = 0; step < nodes; ++step) {
        const int to = (me + step) % nodes, from = (me + nodes - step) % nodes;
        parcels.pack(to, out.data());
        if (step)
            MPIRIC_TRY(exchange(team, out.data(), parcels.bytes(to), team.leaders()[to], in.data(),
                                parcels.bytes(from), team.leaders()[from]));
        parcels.unpack(from, step ? in.data() : out.data());
    }
    return MPI_SUCCESS;
}

/// All nodes at once.
int together(const Parcels& parcels) {
    const Team& team = parcels.team();
    const int nodes = team.leaders().size, me = team.node();
    uint64_t all = 0;
    for (int node = 0; node < nodes; ++node)
        all += parcels.bytes(node);
    const Scratch out{all}, in{all};
    if (!out.data() || !in.data())
        return MPI_ERR_NO_MEM;
    Requests under_way{size_t(2 * nodes)};
    uint64_t at = 0;
    for (int step = 1; step < nodes; ++step) {
        const int from = (me + nodes - step) % nodes;
        MPIRIC_TRY(under_way.receive(team, in.data() + at, parcels.bytes(from), team.leaders()[from]));
        at += parcels.bytes(from);
    }
    at = 0;
    for (int step = 1; step < nodes; ++step) {
        const int to = (me + step) % nodes;
        parcels.pack(to, out.data() + at);
        MPIRIC_TRY(under_way.send(team, out.data() + at, parcels.bytes(to), team.leaders()[to]));
        at += parcels.bytes(to);
    }
    parcels.pack(me, out.data() + at);
    parcels.unpack(me, out.data() + at);
    MPIRIC_TRY(under_way.wait());
    at = 0;
    for (int step = 1; step < nodes; ++step) {
        const int from = (me + nodes - step) % nodes;
        parcels.unpack(from, in.data() + at);
        at += parcels.bytes(from);
    }
    return MPI_SUCCESS;
}

template <int (*between)(const Parcels&)> int run(const Arguments& call) {
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
        MPIRIC_TRY(between(Parcels{team, rows.block(), have.data(), get.data()}));
    if (local > 1) {
        MPIRIC_TRY(shared_scatter(team, 0, get.data(), rows.in(0), each));
    } else {
        std::memcpy(rows.in(0), get.data(), row);
    }
    return rows.end();
}

bool suits(const Workload& workload) { return has_levels(workload); }
bool suits_linear(const Workload& workload) { return suits(workload) && workload.layout.nodes > 2; }

uint64_t scratch(const Workload& workload) {
    const uint64_t row = workload.bytes * uint64_t(workload.layout.size),
                   most = uint64_t(workload.layout.most_per_node);
    return two_rows(workload) + 2 * row * most + 2 * workload.bytes * most * most;
}

uint64_t scratch_together(const Workload& workload) {
    return scratch(workload) +
           2 * workload.bytes * uint64_t(workload.layout.size * workload.layout.most_per_node);
}

MPIRIC_ALGORITHMS({Collective::alltoall, "hierarchical", "Träff, Rougier 2014", suits, scratch,
                   run<in_turns>},
                  {Collective::alltoall, "hierarchical_linear", "Träff, Rougier 2014", suits_linear,
                   scratch_together, run<together>})

}  // namespace mpiric::coll::alltoall_hierarchical
