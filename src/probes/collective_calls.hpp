// The collectives that probe-collectives can call, each with even blocks, blocking or started and waited for.
#pragma once

#include <cstddef>
#include <mpi.h>
#include <string_view>
#include <vector>

namespace mpiric::probes {

// What a rank holds when the call is over; block s is what rank s gave, of the others' data what is mine.
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
    void* out;  // a broadcast's only buffer
    int count;  // of one block
    MPI_Datatype type;
    const int* counts;  // a count for each rank, all the same
    const int* places;  // where their blocks begin
    int root;
    MPI_Comm comm;
};

struct Collective {
    std::string_view name;  // of the blocking form
    Result result;
    bool gives_blocks;  // a block for each rank
    bool takes_blocks;  // a block of each rank
    bool has_counts;    // a count for each rank
    int (*blocking)(const Call&);
    int (*nonblocking)(const Call&, MPI_Request*);
};

// By name, `allreduce` or `iallreduce`; null for what cannot be called.
const Collective* find_collective(std::string_view name);

// The nonblocking form of something.
bool is_nonblocking(std::string_view name);

bool adds_up(Result result);

}  // namespace mpiric::probes
