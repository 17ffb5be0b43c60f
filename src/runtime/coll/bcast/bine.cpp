// Bine trees. In each step the ranks that have the message send it to their partner, the farthest first; or
// they send the part for the ranks that the partner leads to, the nearest first because these messages are
// the largest, and the way back is an allgather. For powers of two.
//
// Cost: log₂ p (α + nβ); 2 log₂ p α + 2 (p − 1)/p nβ with scatter and allgather, as of the binomial forms.
// Fewer bytes leave groups of nodes whose sizes are not powers of two. De Sensi et al.: Bine Trees: Enhancing
// Collective Operations by Optimizing Communication Locality. SC 2025.
#include "coll/bine.hpp"

#include "coll/allgather/stages.hpp"
#include "coll/bcast/stages.hpp"

namespace mpiric::coll {

int bine_allgather(const Team& team, const FromRoot& ranks, char* data, const Blocks& blocks) noexcept {
    const std::vector<Bine::Step> path = Bine{ranks.everyone.size}.path(ranks.me());
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
        const auto [peer, kept, given, count] = *step;
        const uint64_t mine = blocks.begin(kept), other = blocks.begin(given);
        MPIRIC_TRY(exchange(team, data + mine, blocks.begin(kept + count) - mine, ranks[peer], data + other,
                            blocks.begin(given + count) - other, ranks[peer]));
    }
    return MPI_SUCCESS;
}

namespace bcast_bine {

int tree(const Message& message, const Group& everyone, int root) noexcept {
    const Bine bine{everyone.size};
    const FromRoot ranks{everyone, root};
    const int reached_in = bine.reached_in(ranks.me());
    for (int step = std::min(reached_in, bine.steps() - 1); step >= 0; --step) {
        const int peer = ranks[bine.peer(ranks.me(), step)];
        MPIRIC_TRY(step == reached_in ? message.receive(peer) : message.send(peer));
    }
    return MPI_SUCCESS;
}

/// The block of each rank comes down from the root.
int scatter(const Team& team, const FromRoot& ranks, char* data, const Blocks& blocks) noexcept {
    const Bine bine{ranks.everyone.size};
    const int me = ranks.me();
    int step = 0, holder = 0;  // holder: the rank with the blocks of a half that includes this rank
    for (const auto& [peer, kept, given, count] : bine.path(me)) {
        const auto bytes = [&](int first) { return blocks.begin(first + count) - blocks.begin(first); };
        const int reached = bine.peer(holder, step);
        if (holder == me) {
            MPIRIC_TRY(send(team, data + blocks.begin(given), bytes(given), ranks[peer]));
        } else if (bine.is_upper(holder, step) != bine.is_upper(me, step)) {
            if (reached == me)
                MPIRIC_TRY(receive(team, data + blocks.begin(kept), bytes(kept), ranks[holder]));
            holder = reached;
        }
        ++step;
    }
    return MPI_SUCCESS;
}

int scatter_allgather(const Arguments& call) {
    const FromRoot ranks{call.team.everyone(), call.root};
    return as_bytes(call, [&](char* data, uint64_t bytes) -> int {
        const Blocks blocks = Blocks::even(bytes, call.team.size());
        MPIRIC_TRY(scatter(call.team, ranks, data, blocks));
        return bine_allgather(call.team, ranks, data, blocks);
    });
}

bool suits_scatter(const Workload& workload) {
    return has_bine(workload) && workload.bytes >= uint64_t(workload.layout.size);
}

MPIRIC_ALGORITHMS({Collective::bcast, "bine", "De Sensi et al. 2025", has_bine, nullptr, bcast_by<tree>},
                  {Collective::bcast, "bine_scatter_allgather", "De Sensi et al. 2025", suits_scatter,
                   packed_bytes, scatter_allgather})

}  // namespace bcast_bine
}  // namespace mpiric::coll
