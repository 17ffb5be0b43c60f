// Between nodes, then within nodes, packages and NUMA domains. One rank of each node (the root for its own)
// takes part in a broadcast between nodes and shows the message to its node; one rank of each other package,
// then of each other domain, copies it once and shows its copy. Long messages go piece by piece.
//
// Cost: ⌈log₂ N⌉ (α + nβ) for N nodes (⌈log₄ N⌉ α and more nβ with radix 4; n β + (N − 2 + n/s)(α + sβ) down
// a chain of nodes); in bytes of memory traffic, n read by each rank, across the border of a domain or
// package once for each of them instead of once for each rank. Katevenis, Ploumidis, Marazakis: A Framework
// for Hierarchical Single-Copy MPI Collectives on Multicore Nodes. Cluster 2022; Graham, Shipman: MPI Support
// for Multi-core Architectures: Optimized Shared Memory Collectives. EuroPVM/MPI 2008.
#include "coll/bcast/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

#include <cstring>

namespace mpiric::coll {

int multilevel_bcast(const Team& team, int root, char* data, uint64_t bytes) noexcept {
    Board& board = team.board();
    const Tree& tree = team.tree(root);
    const bool shows = !tree.children.empty();
    const uint64_t room = board.slot_bytes();
    for (uint64_t done = 0; done < bytes; done += room) {
        const uint64_t piece = std::min(room, bytes - done);
        const bool first = board.rank() == root;
        const char* from = first ? data + done : board.look(tree.parent, piece);
        if (shows) {
            char* slot = board.fill(piece);
            std::memcpy(slot, from, piece);
            board.publish();
            from = slot;
        }
        if (!first)
            std::memcpy(data + done, from, piece);
        board.finish();
    }
    return MPI_SUCCESS;
}

namespace bcast_multilevel {

template <BcastTree tree> constexpr auto run = bcast_nodes_by<multilevel_bcast, tree>;

MPIRIC_ALGORITHMS({Collective::bcast, "multilevel", "Katevenis et al. 2022", has_memory_levels, packed_bytes,
                   run<binomial>},
                  {Collective::bcast, "multilevel_knomial_4", "Katevenis et al. 2022; Chilkuri et al. 2023",
                   [](const Workload& workload) {
                       return has_memory_levels(workload) && workload.layout.nodes > 2;
                   },
                   packed_bytes, run<knomial<4>>},
                  {Collective::bcast, "multilevel_chain", "Katevenis et al. 2022; Träff, Ripke 2008",
                   [](const Workload& workload) {
                       return has_memory_levels(workload) && workload.layout.nodes > 1 &&
                              workload.bytes > chain_segment;
                   },
                   packed_bytes, bcast_chain_of_nodes<multilevel_bcast>})

}  // namespace bcast_multilevel
}  // namespace mpiric::coll
