// Bcast over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/message.hpp"

namespace mpiric::coll {

/// What one rank has to give or get, in its own datatype.
struct Message {
    const Team& team;
    void* at;
    MPI_Count count;
    MPI_Datatype type;

    int send(int to) const noexcept { return coll::send(team, at, count, type, to); }
    int receive(int from) const noexcept { return coll::receive(team, at, count, type, from); }
};

/// From member `root` to all others. See the files of the same names.
int binomial(const Message& message, const Group& group, int root) noexcept;

}  // namespace mpiric::coll
