// Shared memory. Each rank says that it has come and looks for all others.
//
// Cost: one cache line from each other rank. Best on one node with few ranks. Graham, Shipman: MPI Support
// for Multi-core Architectures. EuroPVM/MPI 2008.
#include "coll/barrier/stages.hpp"
#include "coll/board.hpp"
#include "coll/suits.hpp"

namespace mpiric::coll {

void shared_barrier(const Team& team) noexcept {
    team.board().finish();
    team.board().await_all();
}

namespace barrier_shared {

int run(const Arguments& call) {
    shared_barrier(call.team);
    return MPI_SUCCESS;
}

MPIRIC_ALGORITHMS({Collective::barrier, "shared", "Graham, Shipman 2008", on_one_node, nullptr, run})

}  // namespace barrier_shared
}  // namespace mpiric::coll
