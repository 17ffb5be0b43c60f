// Scatter, then allgather. The root's message is halved down a binomial tree until each rank has its block; a
// ring then gives every block to all.
//
// Cost: (⌈log₂ p⌉ + p − 1) α + 2 (p − 1)/p nβ. Best for long messages.
// Barnett et al. (van de Geijn): Interprocessor Collective Communication Library. SHPCC 1994.
#include "coll/bcast/stages.hpp"

#include "coll/allgather/stages.hpp"

#include <bit>

namespace mpiric::coll {

int scatter_allgather(const Team& team, const Group& group, int root, char* data, uint64_t bytes) noexcept {
    const int size = group.size, here = (group.rank - root + size) % size;
    auto member = [&](int relative) { return group[(relative + root) % size]; };
    // Blocks in the order counted from the root: those of a subtree follow one another.
    const Blocks blocks = Blocks::even(bytes, size);
    auto until = [&](int relative) { return blocks.begin(std::min(relative, size)); };
    const int span = here ? 1 << std::countr_zero(unsigned(here)) : int(std::bit_ceil(unsigned(size)));
    if (here)
        MPIRIC_TRY(receive(team, data + until(here), until(here + span) - until(here), member(here - span)));
    for (int step = span / 2; step > 0; step /= 2)
        if (const int child = here + step; child < size)
            MPIRIC_TRY(send(team, data + until(child), until(child + step) - until(child), member(child)));
    std::vector<int> from_root(static_cast<size_t>(size));
    for (int relative = 0; relative < size; ++relative)
        from_root[size_t(relative)] = member(relative);
    return ring_allgather(team, {from_root.data(), size, here}, data, blocks);
}

namespace {

int run(const Call& call) {
    return as_bytes(call, [&](char* data, uint64_t bytes) {
        return scatter_allgather(call.team, call.team.everyone(), call.root, data, bytes);
    });
}

bool suits(const Shape& shape) { return shape.layout.size > 2 && shape.bytes >= uint64_t(shape.layout.size); }

constinit const Algorithm algorithm{
    Collective::bcast, "scatter_allgather", "Barnett et al. 1994", Order::none, suits, packed_bytes, run};
MPIRIC_ALGORITHM(algorithm)

}  // namespace
}  // namespace mpiric::coll
