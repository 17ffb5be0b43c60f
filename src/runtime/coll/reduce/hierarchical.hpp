// A reduction within nodes, then between them; algorithms differ in how the ranks of a node share memory.
#pragma once

#include "coll/bcast/hierarchical.hpp"
#include "coll/reduce/stages.hpp"

namespace mpiric::coll {

/// One rank of each node (the root for its own) reduces its node's vectors by `within`, and takes part in a
/// binomial tree between nodes.
template <NodeReduce within> int reduce_nodes(const Arguments& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const std::vector<int> ranks = speakers(team, call.root);
    const int speaker = ranks[size_t(team.node())];
    const bool speaks = speaker == team.rank(), root = team.rank() == call.root;
    const Elements work{reduction, speaks && !root ? call.receive_count : 0};
    MPIRIC_TRY(work.error());
    char* data = root ? static_cast<char*>(call.receive) : work.data();
    MPIRIC_TRY(within(reduction, team.local_rank(speaker), input_of(call), data, call.receive_count));
    if (!speaks)
        return MPI_SUCCESS;
    const Group group{ranks.data(), int(ranks.size()), team.node()};
    return binomial_reduce(reduction, group, team.node_of(call.root), data, call.receive_count);
}

}  // namespace mpiric::coll
