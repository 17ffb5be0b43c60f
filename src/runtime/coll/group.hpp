// Some ranks of a team in an order of their own: the stages of hierarchical algorithms run on groups.
#pragma once

namespace mpiric::coll {

struct Group {
    const int* ranks = nullptr;  ///< rank in the team of each member
    int size = 0;
    int rank = -1;  ///< this process's place in `ranks`; -1: not a member

    int operator[](int member) const noexcept { return ranks[member]; }
};

}  // namespace mpiric::coll
