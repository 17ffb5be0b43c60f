// Lanes. Leaders of each node are responsible for the blocks of some ranks of each node: the ranks of a node
// reduce these parts for its leaders in shared memory, each lane reduces and scatters its part between nodes,
// and leaders show the results to their ranks. Two, four or all ranks of a node lead.
//
// Cost: log₂ N α by recursive halving, (N − 1) α around a ring, α when all is sent at once, and
// (N − 1)/N n/L (β + γ) per lane for N nodes with L leaders. Best for long vectors. Träff, Hunold:
// Decomposing MPI Collectives for Exploiting Multi-lane Communication. CLUSTER 2020; Bayatpour et al.:
// Scalable Reduction Collectives with Data Partitioning-based Multi-Leader Design. SC 2017.
#include "coll/allgather/stages.hpp"
#include "coll/lanes.hpp"
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll::reduce_scatter_multi_lane {

/// The input by lanes, and within a lane by nodes.
struct Turned {
    Elements data;
    std::vector<MPI_Count> of_lane;  ///< elements of each
    std::vector<MPI_Count> of_node;  ///< elements of each in this rank's lane

    Turned(const Reduction& reduction, const Lanes& lanes, MPI_Count whole)
        : data(reduction, whole), of_lane(size_t(lanes.leaders())),
          of_node(size_t(reduction.team().leaders().size)) {}

    int fill(const Reduction& reduction, const Lanes& lanes, const void* input, const Blocks& blocks) {
        MPIRIC_TRY(data.error());
        MPI_Count at = 0;
        for (int lane = 0; lane < lanes.leaders(); ++lane)
            for (size_t node = 0; node < of_node.size(); ++node) {
                const Group there = reduction.team().on_node(int(node));
                const MPI_Count begin = at;
                for (int member = lanes.first_of(lane, there.size);
                     member < lanes.first_of(lane + 1, there.size); ++member) {
                    const int rank = there[member];
                    const MPI_Count count = MPI_Count(blocks.size(rank));
                    MPIRIC_TRY(reduction.copy(reduction.at(input, MPI_Count(blocks.begin(rank))),
                                              reduction.at(data.data(), at), count));
                    at += count;
                }
                of_lane[size_t(lane)] += at - begin;
                if (lane == lanes.lane())
                    of_node[node] = at - begin;
            }
        return MPI_SUCCESS;
    }
};

/// Turns the parts of the leaders of this node, `mine` of each, into the blocks of its ranks.
int show(const Arguments& call, const Reduction& reduction, const Lanes& lanes, const Blocks& blocks,
         const char* mine) {
    const Group& local = call.team.local();
    std::vector<MPI_Count> of_lane(size_t(lanes.leaders()));
    MPI_Count whole = 0, own = 0;
    for (int lane = 0; lane < lanes.leaders(); ++lane)
        for (int member = lanes.first_of(lane, local.size); member < lanes.first_of(lane + 1, local.size);
             ++member) {
            own = member == local.rank ? whole : own;
            of_lane[size_t(lane)] += MPI_Count(blocks.size(local[member]));
            whole += MPI_Count(blocks.size(local[member]));
        }
    const Elements shown{reduction, whole};
    MPIRIC_TRY(shown.error());
    const Blocks parts = lanes.among(Blocks::of(Counts{of_lane.data()}, lanes.leaders(), 1));
    const MPI_Count begin = MPI_Count(parts.begin(local.rank)), count = MPI_Count(parts.size(local.rank));
    MPIRIC_TRY(reduction.copy(mine, reduction.at(shown.data(), begin), count));
    MPIRIC_TRY(shared_allgather(call.team, shown.data(), parts.times(reduction.geometry().size)));
    return reduction.copy(reduction.at(shown.data(), own), call.receive,
                          MPI_Count(blocks.size(call.team.rank())));
}

template <int leaders, Between between> int run(const Arguments& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Blocks blocks = blocks_of(call);
    const Lanes lanes{team, leaders};
    Turned turned{reduction, lanes, MPI_Count(blocks.begin(team.size()))};
    MPIRIC_TRY(turned.fill(reduction, lanes, input_of(call), blocks));
    const Blocks slices = lanes.among(Blocks::of(Counts{turned.of_lane.data()}, lanes.leaders(), 1));
    MPIRIC_TRY(shared_reduce_scatter(reduction, turned.data.data(), turned.data.data(), slices));
    const Blocks in_slice = Blocks::of(Counts{turned.of_node.data()}, team.leaders().size, 1);
    char* slice = reduction.at(turned.data.data(), MPI_Count(slices.begin(team.local().rank)));
    const char* mine = reduction.at(slice, MPI_Count(in_slice.begin(team.node())));
    if (lanes.leads())
        MPIRIC_TRY(between(reduction, lanes.group(), slice, in_slice));
    if constexpr (leaders == all_ranks)
        return reduction.copy(mine, call.receive, MPI_Count(blocks.size(team.rank())));
    else
        return show(call, reduction, lanes, blocks, mine);
}

int halving_or_ring(const Reduction& reduction, const Group& group, char* data,
                    const Blocks& blocks) noexcept {
    return is_power(group.size) ? recursive_halving(reduction, group, data, blocks)
                                : ring_reduce_scatter(reduction, group, data, blocks);
}

template <int leaders> bool suits(const Workload& workload) {
    return has_leaders<leaders>(workload) && is_uniform(workload) && workload.commutative && workload.dense &&
           elements_fit(workload);
}
bool suits_halving(const Workload& workload) {
    return suits<all_ranks>(workload) && is_power(workload.layout.nodes);
}
template <int leaders> bool suits_long(const Workload& workload) {
    return suits<leaders>(workload) && worth_dividing(copy_and_more(workload) / 2);
}

/// And the blocks of a node.
uint64_t scratch_to_show(const Workload& workload) {
    return copy_and_all_blocks(workload) + copy_and_more(workload) / 2;
}

MPIRIC_ALGORITHMS_OF_BOTH(
    Collective::reduce_scatter,
    {Collective::reduce_scatter_block, "multi_lane", "Träff, Hunold 2020", suits_halving, copy_and_all_blocks,
     run<all_ranks, recursive_halving>, ReductionOrder::placement},
    {Collective::reduce_scatter_block, "multi_lane_linear", "Träff, Hunold 2020", suits<all_ranks>,
     copy_and_all_blocks, run<all_ranks, linear_reduce_scatter>, ReductionOrder::placement},
    {Collective::reduce_scatter_block, "multi_lane_2", "Träff, Hunold 2020; Bayatpour et al. 2017",
     suits_long<2>, scratch_to_show, run<2, halving_or_ring>, ReductionOrder::placement},
    {Collective::reduce_scatter_block, "multi_lane_4", "Träff, Hunold 2020; Bayatpour et al. 2017",
     suits_long<4>, scratch_to_show, run<4, halving_or_ring>, ReductionOrder::placement})

}  // namespace mpiric::coll::reduce_scatter_multi_lane
