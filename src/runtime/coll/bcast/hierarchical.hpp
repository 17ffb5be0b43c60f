// A broadcast between nodes, then within; algorithms differ in how the ranks of a node share memory.
#pragma once

#include "coll/bcast/stages.hpp"

#include <algorithm>
#include <vector>

namespace mpiric::coll {

/// Who speaks for each node: its leader, or the root.
inline std::vector<int> speakers(const Team& team, int root) {
    std::vector<int> ranks(team.leaders().ranks, team.leaders().ranks + team.leaders().size);
    ranks[size_t(team.node_of(root))] = root;
    return ranks;
}

/// The message as a whole: between the speakers first, then in each node.
template <NodeBcast within, class Between> int bcast_nodes(const Arguments& call, Between between) {
    const Team& team = call.team;
    const std::vector<int> ranks = speakers(team, call.root);
    const int speaker = ranks[size_t(team.node())];
    const Group group{ranks.data(), int(ranks.size()), speaker == team.rank() ? team.node() : -1};
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        if (group.rank >= 0)
            MPIRIC_TRY(between(group, team.node_of(call.root), data, bytes));
        return team.local().size == 1 ? MPI_SUCCESS : within(team, team.local_rank(speaker), data, bytes);
    });
}

template <NodeBcast within, BcastTree tree> int bcast_nodes_by(const Arguments& call) {
    return bcast_nodes<within>(call, [&](const Group& group, int root, char* data, uint64_t bytes) {
        return tree({call.team, data, MPI_Count(bytes), world::handles.byte}, group, root);
    });
}

inline constexpr uint64_t chain_segment = 32 << 10;

/// Down a chain of nodes; each segment goes to the own node as soon as it has come.
template <NodeBcast within> int bcast_chain_of_nodes(const Arguments& call) {
    const Team& team = call.team;
    const std::vector<int> ranks = speakers(team, call.root);
    const int nodes = int(ranks.size()), speaker = ranks[size_t(team.node())],
              last = (team.node_of(call.root) + nodes - 1) % nodes;
    const bool speaks = speaker == team.rank();
    const int parent =
        speaks && team.rank() != call.root ? ranks[size_t((team.node() + nodes - 1) % nodes)] : nobody;
    const int child = speaks && team.node() != last ? ranks[size_t((team.node() + 1) % nodes)] : nobody;
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        Requests sent{size_t(bytes / chain_segment + 1)};
        for (uint64_t done = 0; done < bytes; done += chain_segment) {
            const uint64_t piece = std::min(chain_segment, bytes - done);
            if (parent != nobody)
                MPIRIC_TRY(receive(team, data + done, piece, parent));
            if (child != nobody)
                MPIRIC_TRY(sent.send(team, data + done, piece, child));
            if (team.local().size > 1)
                MPIRIC_TRY(within(team, team.local_rank(speaker), data + done, piece));
        }
        return sent.wait();
    });
}

}  // namespace mpiric::coll
