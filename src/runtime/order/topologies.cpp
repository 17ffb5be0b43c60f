// Topologies whose maker lets the library reorder ranks: the libraries keep them as they are, and the mapping
// engine puts neighbours on one node where that is asked for.
#include "order/substitution.hpp"

#include "base/say.hpp"
#include "order/order.hpp"
#include "profile/context.hpp"
#include "world/agreement.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

namespace mpiric::order {
namespace {

using world::handles;
using world::library;

constexpr int tag = 3;

/// A communicator of ours with the processes of the program's, in an order for a topology.
struct Reordered {
    MPI_Comm comm{};             ///< handle that the library knows; null where nothing changes
    std::vector<int32_t> ranks;  ///< new rank of each old one
};

/// Part of a topology that a rank knows: exchanges between ranks of the old communicator.
using Arcs = std::vector<Arc>;

/// All arcs between ranks, on rank 0.
Arcs gathered(const Arcs& own, const world::ShadowComm& comm) {
    Arcs all;
    std::vector<std::string> of_ranks;
    world::gather(comm, {reinterpret_cast<const char*>(own.data()), own.size() * sizeof(Arc)}, of_ranks);
    for (const std::string& part : of_ranks) {
        const size_t before = all.size();
        all.resize(before + part.size() / sizeof(Arc));
        part.copy(reinterpret_cast<char*>(all.data() + before), part.size());
    }
    const auto is_rank = [&](int32_t number) { return number >= 0 && number < comm.size; };
    std::erase_if(all, [&](const Arc& arc) { return !is_rank(arc.from) || !is_rank(arc.to); });
    for (Arc& arc : all)
        arc.weight = std::max<int64_t>(arc.weight, 1);
    return all;
}

/// The new rank of each old one as the engine places them; empty where it cannot. On rank 0.
std::vector<int32_t> new_ranks(const Arcs& arcs, const std::vector<uint32_t>& leader_of) {
    const size_t size = leader_of.size();
    std::vector<int32_t> launched(size), given(size), nodes(size);  // launched: the rank in each slot
    std::iota(launched.begin(), launched.end(), 0);
    std::stable_sort(launched.begin(), launched.end(), [&](int32_t one, int32_t other) {
        return leader_of[size_t(one)] < leader_of[size_t(other)];
    });
    for (size_t slot = 0; slot < size; ++slot) {
        given[size_t(launched[slot])] = int32_t(slot);
        const bool is_first =
            slot == 0 || leader_of[size_t(launched[slot])] != leader_of[size_t(launched[slot - 1])];
        nodes[slot] = slot == 0 ? 0 : nodes[slot - 1] + int32_t(is_first);
    }
    const SlotOrder placed = place(runtime.options.honour_reorder, arcs, nodes, given);
    if (!placed.is_valid()) {
        say_once("a topology keeps the ranks in their order", placed.problem.c_str());
        return {};
    }
    std::vector<int32_t> ranks(size);
    for (size_t vertex = 0; vertex < size; ++vertex)
        ranks[size_t(launched[size_t(placed.slots[vertex])])] = int32_t(vertex);
    return ranks;
}

/// The processes of `comm`, one of the library's, with neighbours on one node; collective over it.
Reordered reordered(MPI_Comm comm, const Arcs& own) {
    Reordered result;
    int inter = 0;
    if (library.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return result;
    world::ShadowComm shadow = world::with_rank(comm);
    MPI_Comm& ours = shadow.comm;
    const int rank = shadow.rank, size = shadow.size;
    if (size < 3 || library.Comm_split(comm, 0, rank, &ours) != MPI_SUCCESS)
        return result;
    const std::vector<uint32_t> leader_of = world::node_leaders(shadow);
    const bool several_nodes =
        std::any_of(leader_of.begin(), leader_of.end(), [](uint32_t leader) { return leader > 0; });
    if (several_nodes) {
        const Arcs all = gathered(own, shadow);
        std::vector<int32_t> ranks;
        if (rank == 0)
            ranks = new_ranks(all, leader_of);
        char is_placed = char(!ranks.empty());
        library.Bcast(&is_placed, 1, handles.byte, 0, ours);
        ranks.resize(static_cast<size_t>(size));
        if (is_placed) {
            library.Bcast(ranks.data(), 4 * size, handles.byte, 0, ours);
            // Split off the program's own, so that its error handler is passed on.
            if (!std::is_sorted(ranks.begin(), ranks.end()) &&
                library.Comm_split(comm, 0, ranks[size_t(rank)], &result.comm) == MPI_SUCCESS)
                result.ranks = std::move(ranks);
        }
    }
    library.Comm_free(&ours);
    return result;
}

/// Has `make` make the topology of a communicator: in a better order where there is one, else as it was.
template <class Make> int made(MPI_Comm comm, int reorder, const Arcs& own, Make&& make) noexcept {
    if (reorder && comm != handles.comm_null)
        try {
            Reordered better = reordered(to_library(comm), own);
            if (!better.ranks.empty()) {
                const int result = make(better.comm, 0, better);
                library.Comm_free(&better.comm);
                return result;
            }
        } catch (const std::exception&) {
            say_once("this rank has no memory to reorder a topology; the others may wait for it");
        }
    return make(to_library(comm), reorder, Reordered{});
}

int make_grid(MPI_Comm comm, int dimensions, const int extents[], const int periodic[], int reorder,
              MPI_Comm* grid) {
    auto* next_function = next<Function::MPI_Cart_create, decltype(&make_grid)>();
    Arcs arcs;
    int rank = 0;
    if (reorder && dimensions > 0 && extents && library.Comm_rank(to_library(comm), &rank) == MPI_SUCCESS) {
        int ranks = 1, stride = 1;
        for (int at = 0; at < dimensions; ++at)
            ranks *= extents[at];
        for (int at = dimensions - 1; rank < ranks && at >= 0; stride *= extents[at], --at) {
            const int place = rank / stride % extents[at];
            if (place + 1 < extents[at])
                arcs.push_back({rank, rank + stride, 1});
            else if (periodic[at] && extents[at] > 2)
                arcs.push_back({rank, rank - place * stride, 1});
        }
    }
    return made(comm, reorder, arcs, [&](MPI_Comm from, int may_reorder, const Reordered&) {
        return next_function(from, dimensions, extents, periodic, may_reorder, grid);
    });
}

int make_graph(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* graph) {
    auto* next_function = next<Function::MPI_Graph_create, decltype(&make_graph)>();
    Arcs arcs;
    int rank = 0;
    if (reorder && library.Comm_rank(to_library(comm), &rank) == MPI_SUCCESS && rank < nodes)
        for (int at = rank ? index[rank - 1] : 0; at < index[rank]; ++at)
            arcs.push_back({rank, edges[at], 1});
    return made(comm, reorder, arcs, [&](MPI_Comm from, int may_reorder, const Reordered&) {
        return next_function(from, nodes, index, edges, may_reorder, graph);
    });
}

bool are_weights(const int* weights) noexcept {
    return weights && weights != handles.unweighted && weights != handles.weights_empty;
}

int make_distributed(MPI_Comm comm, int count, const int sources[], const int degrees[],
                     const int destinations[], const int weights[], MPI_Info info, int reorder,
                     MPI_Comm* graph) {
    auto* next_function = next<Function::MPI_Dist_graph_create, decltype(&make_distributed)>();
    Arcs arcs;
    for (int at = 0, edge = 0; reorder && at < count; ++at)
        for (const int end = edge + degrees[at]; edge < end; ++edge)
            arcs.push_back({sources[at], destinations[edge], are_weights(weights) ? weights[edge] : 1});
    // Vertices keep their edges, whichever rank names them.
    return made(comm, reorder, arcs, [&](MPI_Comm from, int may_reorder, const Reordered&) {
        return next_function(from, count, sources, degrees, destinations, weights, info, may_reorder, graph);
    });
}

/// One rank's neighbours on one side, on their way to the process that takes its place.
struct Side {
    std::vector<int> neighbours, weights;
    int count = 0, kind = 0;  ///< kind of weights: 0 none, 1 empty, 2 given
};

/// Sends a side to the process that takes this rank from now on, and receives the side of the rank that this
/// process takes.
Side exchanged(const Reordered& better, MPI_Comm comm, int rank, int count, const int neighbours[],
               const int weights[]) {
    const auto& ranks = better.ranks;
    const int player = int(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
    const int played = ranks[size_t(rank)];
    int head[2] = {count, weights == handles.unweighted ? 0 : are_weights(weights) ? 2 : 1};
    Side side;
    std::vector<int> sent(neighbours, neighbours + count);
    if (head[1] == 2)
        sent.insert(sent.end(), weights, weights + count);
    MPI_Request requests[2];
    library.Isend(head, sizeof head, handles.byte, player, tag, comm, &requests[0]);
    library.Isend(sent.data(), int(sent.size() * sizeof(int)), handles.byte, player, tag, comm, &requests[1]);
    int theirs[2] = {};
    library.Recv(theirs, sizeof theirs, handles.byte, played, tag, comm, MPI_STATUS_IGNORE);
    side.count = theirs[0], side.kind = theirs[1];
    std::vector<int> got(size_t(side.count) * (side.kind == 2 ? 2 : 1));
    library.Recv(got.data(), int(got.size() * sizeof(int)), handles.byte, played, tag, comm,
                 MPI_STATUS_IGNORE);
    side.neighbours.assign(got.begin(), got.begin() + side.count);
    side.weights.assign(got.begin() + side.count, got.end());
    for (int all = 0; !all;)
        library.Testall(2, requests, &all, MPI_STATUSES_IGNORE);
    return side;
}

const int* weights_of(const Side& side) noexcept {
    return side.kind == 2 && side.count ? side.weights.data()
           : side.kind == 0             ? handles.unweighted
                                        : handles.weights_empty;
}

int make_adjacent(MPI_Comm comm, int indegree, const int sources[], const int source_weights[], int outdegree,
                  const int destinations[], const int weights[], MPI_Info info, int reorder,
                  MPI_Comm* graph) {
    auto* next_function = next<Function::MPI_Dist_graph_create_adjacent, decltype(&make_adjacent)>();
    Arcs arcs;
    int rank = 0;
    if (reorder && library.Comm_rank(to_library(comm), &rank) == MPI_SUCCESS)
        for (int at = 0; at < outdegree; ++at)
            arcs.push_back({rank, destinations[at], are_weights(weights) ? weights[at] : 1});
    return made(comm, reorder, arcs, [&](MPI_Comm from, int may_reorder, const Reordered& better) {
        if (better.ranks.empty())
            return next_function(from, indegree, sources, source_weights, outdegree, destinations, weights,
                                 info, may_reorder, graph);
        MPI_Comm ours{};
        library.Comm_split(to_library(comm), 0, rank, &ours);
        const Side in = exchanged(better, ours, rank, indegree, sources, source_weights);
        const Side out = exchanged(better, ours, rank, outdegree, destinations, weights);
        library.Comm_free(&ours);
        return next_function(from, in.count, in.neighbours.data(), weights_of(in), out.count,
                             out.neighbours.data(), weights_of(out), info, may_reorder, graph);
    });
}

}  // namespace

void* topology_before_library(Function function) noexcept {
    if (!*runtime.options.honour_reorder)
        return nullptr;
    switch (function) {
    case Function::MPI_Cart_create:
        return reinterpret_cast<void*>(&make_grid);
    case Function::MPI_Graph_create:
        return reinterpret_cast<void*>(&make_graph);
    case Function::MPI_Dist_graph_create:
        return reinterpret_cast<void*>(&make_distributed);
    case Function::MPI_Dist_graph_create_adjacent:
        return reinterpret_cast<void*>(&make_adjacent);
    default:
        return nullptr;
    }
}

}  // namespace mpiric::order
