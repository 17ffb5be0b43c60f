#include "collective_calls.hpp"

#include <algorithm>
#include <array>

namespace mpiric::probes {
namespace {

using Request = MPI_Request*;

constexpr std::array collectives = {
    Collective{
        "allgather", Result::of_each, false, true, false,
        [](const Call& c) { return MPI_Allgather(c.in, c.count, c.type, c.out, c.count, c.type, c.comm); },
        [](const Call& c, Request r) {
            return MPI_Iallgather(c.in, c.count, c.type, c.out, c.count, c.type, c.comm, r);
        }},
    Collective{"allgatherv", Result::of_each, false, true, true,
               [](const Call& c) {
                   return MPI_Allgatherv(c.in, c.count, c.type, c.out, c.counts, c.places, c.type, c.comm);
               },
               [](const Call& c, Request r) {
                   return MPI_Iallgatherv(c.in, c.count, c.type, c.out, c.counts, c.places, c.type, c.comm,
                                          r);
               }},
    Collective{"allreduce", Result::sum_of_all, false, false, false,
               [](const Call& c) { return MPI_Allreduce(c.in, c.out, c.count, c.type, MPI_SUM, c.comm); },
               [](const Call& c, Request r) {
                   return MPI_Iallreduce(c.in, c.out, c.count, c.type, MPI_SUM, c.comm, r);
               }},
    Collective{
        "alltoall", Result::my_block_of_each, true, true, false,
        [](const Call& c) { return MPI_Alltoall(c.in, c.count, c.type, c.out, c.count, c.type, c.comm); },
        [](const Call& c, Request r) {
            return MPI_Ialltoall(c.in, c.count, c.type, c.out, c.count, c.type, c.comm, r);
        }},
    Collective{"alltoallv", Result::my_block_of_each, true, true, true,
               [](const Call& c) {
                   return MPI_Alltoallv(c.in, c.counts, c.places, c.type, c.out, c.counts, c.places, c.type,
                                        c.comm);
               },
               [](const Call& c, Request r) {
                   return MPI_Ialltoallv(c.in, c.counts, c.places, c.type, c.out, c.counts, c.places, c.type,
                                         c.comm, r);
               }},
    Collective{"barrier", Result::nothing, false, false, false,
               [](const Call& c) { return MPI_Barrier(c.comm); },
               [](const Call& c, Request r) { return MPI_Ibarrier(c.comm, r); }},
    Collective{
        "bcast", Result::of_root, false, false, false,
        [](const Call& c) { return MPI_Bcast(c.out, c.count, c.type, c.root, c.comm); },
        [](const Call& c, Request r) { return MPI_Ibcast(c.out, c.count, c.type, c.root, c.comm, r); }},
    Collective{"exscan", Result::sum_before_mine, false, false, false,
               [](const Call& c) { return MPI_Exscan(c.in, c.out, c.count, c.type, MPI_SUM, c.comm); },
               [](const Call& c, Request r) {
                   return MPI_Iexscan(c.in, c.out, c.count, c.type, MPI_SUM, c.comm, r);
               }},
    Collective{"gather", Result::of_each_at_root, false, true, false,
               [](const Call& c) {
                   return MPI_Gather(c.in, c.count, c.type, c.out, c.count, c.type, c.root, c.comm);
               },
               [](const Call& c, Request r) {
                   return MPI_Igather(c.in, c.count, c.type, c.out, c.count, c.type, c.root, c.comm, r);
               }},
    Collective{
        "gatherv", Result::of_each_at_root, false, true, true,
        [](const Call& c) {
            return MPI_Gatherv(c.in, c.count, c.type, c.out, c.counts, c.places, c.type, c.root, c.comm);
        },
        [](const Call& c, Request r) {
            return MPI_Igatherv(c.in, c.count, c.type, c.out, c.counts, c.places, c.type, c.root, c.comm, r);
        }},
    Collective{
        "reduce", Result::sum_at_root, false, false, false,
        [](const Call& c) { return MPI_Reduce(c.in, c.out, c.count, c.type, MPI_SUM, c.root, c.comm); },
        [](const Call& c, Request r) {
            return MPI_Ireduce(c.in, c.out, c.count, c.type, MPI_SUM, c.root, c.comm, r);
        }},
    Collective{
        "reduce_scatter", Result::sum_of_my_block, true, false, true,
        [](const Call& c) { return MPI_Reduce_scatter(c.in, c.out, c.counts, c.type, MPI_SUM, c.comm); },
        [](const Call& c, Request r) {
            return MPI_Ireduce_scatter(c.in, c.out, c.counts, c.type, MPI_SUM, c.comm, r);
        }},
    Collective{
        "reduce_scatter_block", Result::sum_of_my_block, true, false, false,
        [](const Call& c) { return MPI_Reduce_scatter_block(c.in, c.out, c.count, c.type, MPI_SUM, c.comm); },
        [](const Call& c, Request r) {
            return MPI_Ireduce_scatter_block(c.in, c.out, c.count, c.type, MPI_SUM, c.comm, r);
        }},
    Collective{
        "scan", Result::sum_up_to_mine, false, false, false,
        [](const Call& c) { return MPI_Scan(c.in, c.out, c.count, c.type, MPI_SUM, c.comm); },
        [](const Call& c, Request r) { return MPI_Iscan(c.in, c.out, c.count, c.type, MPI_SUM, c.comm, r); }},
    Collective{"scatter", Result::block_of_root, true, false, false,
               [](const Call& c) {
                   return MPI_Scatter(c.in, c.count, c.type, c.out, c.count, c.type, c.root, c.comm);
               },
               [](const Call& c, Request r) {
                   return MPI_Iscatter(c.in, c.count, c.type, c.out, c.count, c.type, c.root, c.comm, r);
               }},
    Collective{
        "scatterv", Result::block_of_root, true, false, true,
        [](const Call& c) {
            return MPI_Scatterv(c.in, c.counts, c.places, c.type, c.out, c.count, c.type, c.root, c.comm);
        },
        [](const Call& c, Request r) {
            return MPI_Iscatterv(c.in, c.counts, c.places, c.type, c.out, c.count, c.type, c.root, c.comm, r);
        }},
};

}  // namespace

const Collective* find_collective(std::string_view name) {
    name.remove_prefix(is_nonblocking(name) ? 1 : 0);
    const auto* const found =
        std::find_if(collectives.begin(), collectives.end(),
                     [&](const Collective& collective) { return collective.name == name; });
    return found == collectives.end() ? nullptr : found;
}

bool is_nonblocking(std::string_view name) { return name.starts_with('i'); }

bool adds_up(Result result) { return Result::sum_of_all <= result && result <= Result::sum_before_mine; }

}  // namespace mpiric::probes
