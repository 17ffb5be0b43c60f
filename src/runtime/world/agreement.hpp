// Ranks talking among themselves: communicators of our own, and agreement by point-to-point messages, so that
// it depends on none of the collectives that are being judged.
#pragma once

#include "world/library.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace mpiric::world {

/// Ranks of a communicator that is ours alone: nobody else's messages or callbacks are in it, and errors are
/// returned.
struct ShadowComm {
    MPI_Comm comm{};
    int rank = 0, size = 0;
};

/// Before anything collective of ours: nobody returns before all have come. Whoever waits for long calls
/// `late`, now and then, for instance because some ranks were started without this library.
bool find_all(MPI_Comm of, void (*late)()) noexcept;

/// Collective over `of`; no attribute is copied and none of its callbacks runs. Errors are raised on `of`.
/// False on every rank when any could not.
bool make_shadow_comm(MPI_Comm of, ShadowComm& shadow) noexcept;

/// The same where the program must not see errors. MPICH takes the handler that is put back for one that the
/// program gave: better not on the world, whose handler others follow.
bool make_shadow_comm_quietly(MPI_Comm of_program, ShadowComm& shadow) noexcept;
void free_shadow_comm(ShadowComm& shadow) noexcept;

/// Every value becomes the largest over the ranks. Dissemination (Hensgen, Finkel, Manber 1988): as many
/// rounds as the size has binary digits. Nobody returns before all have come.
bool agree_on_largest(const ShadowComm& shadow, std::span<uint64_t> values) noexcept;

/// Bytes of rank 0 to all, down a binomial tree.
bool hand_out(const ShadowComm& shadow, void* bytes, size_t count) noexcept;

}  // namespace mpiric::world
