// Recursive doubling. In step k each rank exchanges the blocks it has, 2^k of them in a row, with the one
// whose number differs in bit k. For powers of two.
//
// Cost: log₂ p α + (p − 1) mβ for blocks of m bytes. Best for short and middling blocks.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. IJHPCA 19(1),
// 2005.
#include "coll/allgather/stages.hpp"

#include <bit>

namespace mpiric::coll {
namespace {

int run(const Call& call) {
    Gathering gathering{call};
    MPIRIC_TRY(gathering.begin());
    const Blocks& blocks = gathering.blocks();
    char* data = gathering.data();
    for (int bit = 1; bit < call.team.size(); bit *= 2) {
        const int peer = call.team.rank() ^ bit, mine = call.team.rank() & ~(bit - 1),
                  theirs = peer & ~(bit - 1);
        MPIRIC_TRY(exchange(call.team, data + blocks.begin(mine),
                            blocks.begin(mine + bit) - blocks.begin(mine), peer, data + blocks.begin(theirs),
                            blocks.begin(theirs + bit) - blocks.begin(theirs), peer));
    }
    return gathering.end();
}

bool suits(const Shape& shape) { return std::has_single_bit(unsigned(shape.layout.size)); }

constinit const Algorithm algorithm{Collective::allgather,
                                    "recursive_doubling",
                                    "Thakur et al. 2005",
                                    Order::none,
                                    suits,
                                    gathering_scratch,
                                    run};
constinit const Algorithm varied{Collective::allgatherv,
                                 "recursive_doubling",
                                 "Thakur et al. 2005",
                                 Order::none,
                                 suits,
                                 gathering_scratch,
                                 run};
MPIRIC_ALGORITHM(algorithm)
MPIRIC_ALGORITHM(varied)

}  // namespace
}  // namespace mpiric::coll
