// Nodes last. The root sends each node's blocks in one message to a rank there, which shows them to its node.
//
// Cost: α + (p − L) mβ at the root for N nodes of L ranks, N − 1 messages instead of p − 1; one copy more in
// memory. Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks. IPDPS 2000.
#include "coll/scatter/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::scatter_hierarchical {

/// Sends every other node its blocks from `row`, which holds them in the order of nodes from the own one on.
int send_out(const Arguments& call, const char* row, uint64_t block, Requests& sent) {
    const Team& team = call.team;
    char* at = const_cast<char*>(row);
    for (int step = 0; step < team.leaders().size; ++step) {
        const Group there = team.on_node((team.node() + step) % team.leaders().size);
        char* begin = at;
        for (int member = 0; member < there.size; ++member, at += block)
            MPIRIC_TRY(pack(team, sent_by(call).at(there[member]), call.send_count, call.send_type, at));
        if (step)
            MPIRIC_TRY(sent.send(team, begin, block * uint64_t(there.size), there[0]));
    }
    return MPI_SUCCESS;
}

int run(const Arguments& call) {
    const Team& team = call.team;
    const bool root = team.rank() == call.root;
    const uint64_t block = scattered_block_of(call);
    const Group& local = team.local();
    const int speaker = team.node() == team.node_of(call.root) ? team.local_rank(call.root) : 0;
    const bool speaks = local.rank == speaker;
    const Scratch row{block * uint64_t(root ? team.size() : speaks ? local.size : 0)}, own{block};
    if (!row.data() || !own.data())
        return MPI_ERR_NO_MEM;
    Requests sent{size_t(team.leaders().size)};
    if (root) {
        MPIRIC_TRY(send_out(call, row.data(), block, sent));
    } else if (speaks) {
        MPIRIC_TRY(receive(team, row.data(), block * uint64_t(local.size), call.root));
    }
    const char* mine = row.data();
    if (local.size > 1) {
        MPIRIC_TRY(shared_scatter(team, speaker, row.data(), own.data(), Blocks::equal(block)));
        mine = own.data();
    }
    if (call.receive != MPI_IN_PLACE)
        MPIRIC_TRY(unpack(team, mine, call.receive, call.receive_count, call.receive_type));
    return sent.wait();
}

MPIRIC_ALGORITHMS(
    {Collective::scatter, "hierarchical", "Karonis et al. 2000", has_levels,
     [](const Workload& workload) { return workload.bytes * uint64_t(workload.layout.size + 1); }, run})

}  // namespace mpiric::coll::scatter_hierarchical
