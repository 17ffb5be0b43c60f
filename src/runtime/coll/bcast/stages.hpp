// Bcast over a group: stages of the algorithms of this folder and of hierarchical ones.
#pragma once

#include "coll/buffers.hpp"
#include "coll/message.hpp"

namespace mpiric::coll {

/// The message of one rank, sent or received, in its own datatype.
struct Message {
    const Team& team;
    void* at;
    MPI_Count count;
    MPI_Datatype type;

    int send(int to) const noexcept { return coll::send(team, at, count, type, to); }
    int receive(int from) const noexcept { return coll::receive(team, at, count, type, from); }
};

/// One of the trees below.
using BcastTree = int (*)(const Message& message, const Group& group, int root) noexcept;

/// Runs it over all ranks.
template <BcastTree tree> int bcast_by(const Arguments& call) {
    return tree({call.team, call.receive, call.receive_count, call.receive_type}, call.team.everyone(),
                call.root);
}

/// From member `root` to all others. See the files of the same names.
int binomial(const Message& message, const Group& group, int root) noexcept;
/// For radix 4 and 8.
template <int radix> int knomial(const Message& message, const Group& group, int root) noexcept;
int scatter_allgather(const Team& team, const Group& group, int root, char* data, uint64_t bytes) noexcept;
/// For powers of two.
int scatter_recursive_doubling(const Team& team, const Group& group, int root, char* data,
                               uint64_t bytes) noexcept;

/// From local rank `root` to the ranks of its node, through the board.
int shared_bcast(const Team& team, int root, char* data, uint64_t bytes) noexcept;
/// The same along the levels of memory. See the file of the same name.
int multilevel_bcast(const Team& team, int root, char* data, uint64_t bytes) noexcept;

/// One of those.
using NodeBcast = int (*)(const Team& team, int root, char* data, uint64_t bytes) noexcept;

/// Runs an algorithm that wants bytes on the program's buffer.
template <class Stage> int as_bytes(const Arguments& call, Stage stage) {
    Target buffer{call.team, call.receive, call.receive_count, call.receive_type};
    MPIRIC_TRY(buffer.error());
    if (call.team.rank() == call.root) {
        MPIRIC_TRY(buffer.load());
        return stage(buffer.data(), buffer.bytes());
    }
    MPIRIC_TRY(stage(buffer.data(), buffer.bytes()));
    return buffer.store();
}

/// Scratch memory that as_bytes takes, when a datatype has gaps.
inline uint64_t packed_bytes(const Workload& workload) noexcept { return workload.bytes; }

}  // namespace mpiric::coll
