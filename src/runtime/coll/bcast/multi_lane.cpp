// Lanes. The root shows the message to its node in shared memory; each leader there sends its slice to the
// leaders of equal position on the other nodes, which show it to theirs. 2, 4 or all ranks of a node lead.
//
// Cost: ⌈log₂ N⌉ (α + n/L β) per lane for N nodes with L leaders by binomial trees, for long slices
// (⌈log₂ N⌉ + N − 1) α + 2 n/L β by scatter and allgather, 2 log₂ N α for powers of two; and two copies in
// memory. Best for long messages where one rank alone cannot fill the network. Träff, Hunold: Decomposing MPI
// Collectives for Exploiting Multi-lane Communication. CLUSTER 2020.
#include "coll/allgather/stages.hpp"
#include "coll/bcast/stages.hpp"
#include "coll/lanes.hpp"

namespace mpiric::coll::bcast_multi_lane {

constexpr uint64_t long_slice_bytes = 16 << 10;

int between(const Team& team, const Lanes& lanes, int root, char* slice, uint64_t bytes) {
    const Group group = lanes.group();
    if (group.size > 2 && bytes >= long_slice_bytes)
        return is_power(group.size) ? scatter_recursive_doubling(team, group, root, slice, bytes)
                                    : scatter_allgather(team, group, root, slice, bytes);
    return binomial({team, slice, MPI_Count(bytes), world::handles.byte}, group, root);
}

template <int leaders> int run(const Arguments& call) {
    const Team& team = call.team;
    const Lanes lanes{team, leaders};
    const int source = team.node_of(call.root);
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        const Blocks slices = lanes.among(bytes);
        const int me = team.local().rank;
        if (team.node() == source && team.local().size > 1)
            MPIRIC_TRY(shared_bcast(team, team.local_rank(call.root), data, bytes));
        if (lanes.leads())
            MPIRIC_TRY(between(team, lanes, source, data + slices.begin(me), slices.size(me)));
        return team.node() == source ? MPI_SUCCESS : shared_allgather(team, data, slices);
    });
}

template <int leaders> bool suits(const Workload& workload) {
    return has_leaders<leaders>(workload) && worth_dividing(workload.bytes);
}

MPIRIC_ALGORITHMS({Collective::bcast, "multi_lane", "Träff, Hunold 2020", suits<all_ranks>, packed_bytes,
                   run<all_ranks>},
                  {Collective::bcast, "multi_lane_2", "Träff, Hunold 2020", suits<2>, packed_bytes, run<2>},
                  {Collective::bcast, "multi_lane_4", "Träff, Hunold 2020", suits<4>, packed_bytes, run<4>})

}  // namespace mpiric::coll::bcast_multi_lane
