// Shadow communicators, and collectives over them made of point-to-point messages, so that they depend on
// none of the collectives that are being judged.
#pragma once

#include "world/library.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpiric::world {

/// A communicator that is ours alone: no other messages or callbacks; errors are returned.
struct ShadowComm {
    MPI_Comm comm{};
    int rank = 0, size = 0;
};

/// A communicator with this process's rank and its size.
inline ShadowComm with_rank(MPI_Comm comm) noexcept {
    ShadowComm shadow{comm};
    library.Comm_rank(comm, &shadow.rank);
    library.Comm_size(comm, &shadow.size);
    return shadow;
}

/// Synchronises all ranks, before the first collective of ours; a rank calls `late` periodically while it
/// waits for long, for instance because other ranks were started without this library.
bool rendezvous(MPI_Comm of, void (*late)()) noexcept;

/// Collective over `of`: copies no attribute and runs no callback of it. Errors are raised on `of`. False on
/// every rank when it failed on any.
bool make_shadow_comm(MPI_Comm of, ShadowComm& shadow) noexcept;

/// make_shadow_comm() without errors that the program would see. MPICH treats the restored handler as one
/// that the program has set: better not on the world, whose handler others follow.
bool make_shadow_comm_quietly(MPI_Comm of_program, ShadowComm& shadow) noexcept;
void free_shadow_comm(ShadowComm& shadow) noexcept;

/// Replaces every value by the largest over the ranks, and synchronises them. Dissemination (Hensgen, Finkel,
/// Manber 1988): ceil(log2(size)) rounds.
bool allreduce_max(const ShadowComm& shadow, std::span<uint64_t> values) noexcept;

/// Sends bytes of rank 0 to all, down a binomial tree.
bool broadcast(const ShadowComm& shadow, void* bytes, size_t count) noexcept;

/// Gathers the bytes of every rank, of any number, on rank 0.
bool gather(const ShadowComm& shadow, std::string_view own, std::vector<std::string>& of_ranks);

/// The lowest rank on the node of each rank, by collectives of the library; empty when one failed.
std::vector<uint32_t> node_leaders(const ShadowComm& shadow);

}  // namespace mpiric::world
