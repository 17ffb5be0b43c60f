// Linear. All messages are under way at once, to and from the ranks that follow the own one.
//
// Cost: (p − 1) mβ and little more than one latency for cells of m bytes, as long as the network carries p
// messages per rank. Best for short cells on few ranks. Hoefler, Siebert, Lumsdaine: Group Operation Assembly
// Language. ICPP 2009 (as the linear schedule).
#include "coll/alltoall/stages.hpp"

namespace mpiric::coll::alltoall_linear {

int run(const Arguments& call) {
    const Cells cells{call};
    const int size = call.team.size(), me = call.team.rank();
    Requests under_way{size_t(2 * size)};
    for (int step = 1; step < size; ++step) {
        const int from = (me + size - step) % size;
        MPIRIC_TRY(
            under_way.receive(call.team, cells.in.at(from), cells.in.count(from), cells.in.type(), from));
    }
    for (int step = 1; step < size; ++step) {
        const int to = (me + step) % size;
        MPIRIC_TRY(under_way.send(call.team, cells.out.at(to), cells.out.count(to), cells.out.type(), to));
    }
    MPIRIC_TRY(cells.keep_own());
    return under_way.wait();
}

/// In place, the outgoing cells are gathered first.
int run_packed(const Arguments& call) {
    if (call.send != MPI_IN_PLACE)
        return run(call);
    Rows rows{call};
    MPIRIC_TRY(rows.begin());
    Arguments from_copy = call;
    from_copy.send = rows.out(0);
    from_copy.send_count = MPI_Count(rows.block());
    from_copy.send_type = world::handles.byte;
    return run(from_copy);
}

MPIRIC_ALGORITHMS({Collective::alltoall, "linear", "Hoefler et al. 2009", nullptr, two_rows, run_packed},
                  {Collective::alltoallv, "linear", "Hoefler et al. 2009",
                   [](const Workload& workload) { return !workload.in_place; }, nullptr, run})

}  // namespace mpiric::coll::alltoall_linear
