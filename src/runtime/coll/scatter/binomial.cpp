// Binomial tree. The root hands half of all blocks to the rank half way round, and each rank that has blocks
// of others goes on in the same way.
//
// Cost: ⌈log₂ p⌉ α + (p − 1)/p · pmβ for blocks of m bytes. Best for short blocks on many ranks.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/places.hpp"
#include "coll/scatter/stages.hpp"

#include <bit>

namespace mpiric::coll {
namespace {

/// `row` has room for the blocks of this rank's subtree, in the order counted from the root.
int descend(const Call& call, char* row, uint64_t block, int reach) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size;
    auto rank = [&](int relative) { return (relative + call.root) % size; };
    auto blocks = [&](int relative, int step) { return block * uint64_t(std::min(step, size - relative)); };
    if (here)
        MPIRIC_TRY(receive(call.team, row, blocks(here, reach), rank(here - reach)));
    for (int step = reach / 2; step > 0; step /= 2)
        if (here + step < size)
            MPIRIC_TRY(
                send(call.team, row + block * uint64_t(step), blocks(here + step, step), rank(here + step)));
    return MPI_SUCCESS;
}

int run(const Call& call) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size;
    const bool root = here == 0;
    const uint64_t block = world::size_of(root ? call.send_type : call.receive_type) *
                           uint64_t(root ? call.send_count : call.receive_count);
    const int reach = root ? int(std::bit_ceil(unsigned(size))) : 1 << std::countr_zero(unsigned(here));
    const Scratch row{block * uint64_t(std::min(reach, size - here))};
    if (!row.data())
        return MPI_ERR_NO_MEM;
    for (int relative = 0; root && relative < size; ++relative) {
        const int rank = (relative + call.root) % size;
        MPIRIC_TRY(pack(call.team, sent_by(call).at(rank), call.send_count, call.send_type,
                        row.data() + block * uint64_t(relative)));
    }
    MPIRIC_TRY(descend(call, row.data(), block, reach));
    if (call.receive == MPI_IN_PLACE)
        return MPI_SUCCESS;
    return unpack(call.team, row.data(), call.receive, call.receive_count, call.receive_type);
}

constinit const Algorithm algorithm{
    Collective::scatter,
    "binomial",
    "Thakur et al. 2005",
    Order::none,
    nullptr,
    [](const Shape& shape) { return shape.bytes * uint64_t(shape.layout.size); },
    run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
