// Lanes. Local rank l of each node is responsible for the blocks of all local ranks l: the ranks of a node
// reduce these parts for each other in shared memory, then each lane reduces and scatters its part between
// nodes. All ranks, and all network cards they use, work at once.
//
// Cost: log₂ N α by recursive halving, α when all is sent at once, and (N − 1)/N n/L (β + γ) per lane for N
// nodes of L ranks. Best for long vectors. Träff, Hunold: Decomposing MPI Collectives for Exploiting
// Multi-lane Communication. CLUSTER 2020.
#include "coll/reduce_scatter/stages.hpp"

namespace mpiric::coll {
namespace {

template <Between between> int run(const Call& call) {
    const Team& team = call.team;
    const Reduction reduction{call.team, call.receive_type, call.op};
    const Blocks blocks = blocks_of(call);
    const int lanes = team.local().size, nodes = team.leaders().size, me = team.local().rank;
    const Elements turned{reduction, MPI_Count(blocks.begin(team.size()))};
    MPIRIC_TRY(turned.error());
    std::vector<MPI_Count> of_lane(static_cast<size_t>(lanes)), mine(static_cast<size_t>(nodes));
    std::vector<int> lane_ranks(static_cast<size_t>(nodes));
    MPI_Count at = 0;
    for (int lane = 0; lane < lanes; ++lane)
        for (int node = 0; node < nodes; ++node) {
            const int rank = team.on_node(node)[lane];
            const MPI_Count count = MPI_Count(blocks.size(rank));
            MPIRIC_TRY(reduction.copy(reduction.at(input_of(call), MPI_Count(blocks.begin(rank))),
                                      reduction.at(turned.data(), at), count));
            at += count;
            of_lane[size_t(lane)] += count;
            if (lane == me)
                mine[size_t(node)] = count, lane_ranks[size_t(node)] = rank;
        }
    const Blocks slices = Blocks::of(Counts{of_lane.data()}, lanes, 1);
    MPIRIC_TRY(shared_reduce_scatter(reduction, turned.data(), turned.data(), slices));
    char* slice = reduction.at(turned.data(), MPI_Count(slices.begin(me)));
    const Blocks in_slice = Blocks::of(Counts{mine.data()}, nodes, 1);
    MPIRIC_TRY(between(reduction, Group{lane_ranks.data(), nodes, team.node()}, slice, in_slice));
    return reduction.copy(reduction.at(slice, MPI_Count(in_slice.begin(team.node()))), call.receive,
                          mine[size_t(team.node())]);
}

bool suits_linear(const Shape& shape) {
    return has_levels(shape) && is_uniform(shape) && shape.commutative && shape.dense && elements_fit(shape);
}
bool suits(const Shape& shape) { return suits_linear(shape) && is_power(shape.layout.nodes); }

template <Collective collective, Between between>
consteval Algorithm algorithm(const char* name, bool (*suited)(const Shape&)) noexcept {
    return {collective,          name,        "Träff, Hunold 2020", Order::placement, suited,
            copy_and_all_blocks, run<between>};
}

constexpr auto blocks = Collective::reduce_scatter_block, uneven = Collective::reduce_scatter;
constinit const Algorithm block_halving = algorithm<blocks, recursive_halving>("multi_lane", suits),
                          block_linear =
                              algorithm<blocks, linear_reduce_scatter>("multi_lane_linear", suits_linear),
                          halving = algorithm<uneven, recursive_halving>("multi_lane", suits),
                          linear =
                              algorithm<uneven, linear_reduce_scatter>("multi_lane_linear", suits_linear);
MPIRIC_ALGORITHM(block_halving)
MPIRIC_ALGORITHM(block_linear)
MPIRIC_ALGORITHM(halving)
MPIRIC_ALGORITHM(linear)

}  // namespace
}  // namespace mpiric::coll
