// Binomial tree. In step k the ranks that are still in, counted from the root, hand all blocks they have to
// the one 2^k before.
//
// Cost: ⌈log₂ p⌉ α + (p − 1) mβ for blocks of m bytes. Best for short blocks on many ranks.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/gather/stages.hpp"
#include "coll/places.hpp"

#include <bit>
#include <cstring>

namespace mpiric::coll {
namespace {

/// `row` has room for the blocks of this rank's subtree, in the order counted from the root; the own one is
/// there.
int climb(const Call& call, char* row, uint64_t block) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size;
    auto rank = [&](int relative) { return (relative + call.root) % size; };
    for (int bit = 1; bit < size; bit *= 2) {
        if (here & bit)
            return send(call.team, row, block * uint64_t(std::min(bit, size - here)), rank(here - bit));
        if (here + bit < size)
            MPIRIC_TRY(receive(call.team, row + block * uint64_t(bit),
                               block * uint64_t(std::min(bit, size - here - bit)), rank(here + bit)));
    }
    return MPI_SUCCESS;
}

int run(const Call& call) {
    const int size = call.team.size(), here = (call.team.rank() - call.root + size) % size;
    const bool root = here == 0;
    const uint64_t block = world::size_of(root ? call.receive_type : call.send_type) *
                           uint64_t(root ? call.receive_count : call.send_count);
    const int subtree = root ? size : std::min(1 << std::countr_zero(unsigned(here)), size - here);
    const Scratch row{block * uint64_t(subtree)};
    if (!row.data())
        return MPI_ERR_NO_MEM;
    const bool in_place = call.send == MPI_IN_PLACE;
    if (!in_place)
        MPIRIC_TRY(pack(call.team, call.send, call.send_count, call.send_type, row.data()));
    MPIRIC_TRY(climb(call, row.data(), block));
    for (int relative = in_place; root && relative < size; ++relative) {
        const int rank = (relative + call.root) % size;
        MPIRIC_TRY(unpack(call.team, row.data() + block * uint64_t(relative), received_by(call).at(rank),
                          call.receive_count, call.receive_type));
    }
    return MPI_SUCCESS;
}

constinit const Algorithm algorithm{
    Collective::gather,
    "binomial",
    "Thakur et al. 2005",
    Order::none,
    nullptr,
    [](const Shape& shape) { return shape.bytes * uint64_t(shape.layout.size); },
    run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
