// Collectives that probe-collectives can call, each with equal blocks, blocking or started and waited for.
#pragma once

#include <cstddef>
#include <mpi.h>
#include <string_view>
#include <vector>

namespace mpiric::probes {

// Contents of a rank's buffer after the call; block s is the part that comes from rank s.
enum class Result {
    nothing,
    sum_of_all,        // allreduce
    sum_at_root,       // reduce
    sum_of_my_block,   // reduce_scatter
    sum_up_to_mine,    // scan
    sum_before_mine,   // exscan
    of_root,           // bcast
    block_of_root,     // scatter
    of_each,           // allgather
    of_each_at_root,   // gather
    my_block_of_each,  // alltoall
};

// Arguments of one call.
struct Call {
    const void* in;
    void* out;  // the only buffer of a broadcast
    int count;  // elements of one block
    MPI_Datatype type;
    const int* counts;  // a count for each rank, all equal
    const int* places;  // offsets of the blocks
    int root;
    MPI_Comm comm;
};

struct Collective {
    std::string_view name;  // name of the blocking form
    Result result;
    bool gives_blocks;  // the input has one block for each rank
    bool takes_blocks;  // the output has one block of each rank
    bool has_counts;    // the call takes a count for each rank
    int (*blocking)(const Call&);
    int (*nonblocking)(const Call&, MPI_Request*);
};

// Finds a collective by name, `allreduce` or `iallreduce`; null if it cannot be called.
const Collective* find_collective(std::string_view name);

// Nonblocking form of a collective.
bool is_nonblocking(std::string_view name);

bool adds_up(Result result);

}  // namespace mpiric::probes
