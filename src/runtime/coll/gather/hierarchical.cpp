// Nodes first. The ranks of a node show their blocks to one of them (the root on its own node) in shared
// memory, which sends the whole node's blocks to the root in one message.
//
// Cost: α + (p − L) mβ at the root for N nodes of L ranks, N − 1 messages instead of p − 1; one copy more in
// memory. Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks. IPDPS 2000.
#include "coll/gather/stages.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll::gather_hierarchical {

int run(const Arguments& call) {
    const Team& team = call.team;
    const bool root = team.rank() == call.root;
    const uint64_t block = block_of(call);
    const Group& local = team.local();
    const int speaker = team.node() == team.node_of(call.root) ? team.local_rank(call.root) : 0;
    const bool speaks = local.rank == speaker;
    // The root has all blocks in the order of nodes, others have the blocks of their own node.
    const Scratch row{block * uint64_t(root ? team.size() : speaks ? local.size : local.rank + 1)};
    if (!row.data())
        return MPI_ERR_NO_MEM;
    MPIRIC_TRY(pack_own(call, row.data() + block * uint64_t(local.rank)));
    if (local.size > 1)
        MPIRIC_TRY(shared_gather(team, speaker, row.data(), Blocks::equal(block)));
    if (!root)
        return speaks ? send(team, row.data(), block * uint64_t(local.size), call.root) : MPI_SUCCESS;
    Requests coming{size_t(team.leaders().size)};
    uint64_t at = block * uint64_t(local.size);
    std::vector<int> order(local.ranks, local.ranks + local.size);
    for (int step = 1; step < team.leaders().size; ++step) {
        const Group there = team.on_node((team.node() + step) % team.leaders().size);
        MPIRIC_TRY(coming.receive(team, row.data() + at, block * uint64_t(there.size), there[0]));
        at += block * uint64_t(there.size);
        order.insert(order.end(), there.ranks, there.ranks + there.size);
    }
    MPIRIC_TRY(coming.wait());
    for (size_t index = 0; index < order.size(); ++index)
        if (order[index] != call.root || call.send != MPI_IN_PLACE)
            MPIRIC_TRY(unpack(team, row.data() + block * index, received_by(call).at(order[index]),
                              call.receive_count, call.receive_type));
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS({Collective::gather, "hierarchical", "Karonis et al. 2000", has_levels, all_blocks, run})

}  // namespace mpiric::coll::gather_hierarchical
