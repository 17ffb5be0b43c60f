// A block of measured calls of one candidate: its times on this rank, and what all ranks agree on at its end.
#pragma once

#include <array>
#include <cstdint>

namespace mpiric::select {

struct Entry;
struct Exploration;

struct Block {
    uint64_t inside_ns = 0;      ///< in the measured calls
    uint64_t between_ns = 0;     ///< between them
    uint64_t rendezvous_ns = 0;  ///< before them
    uint64_t agreeing_ns = 0;    ///< on the block before, or too early on this one
    uint64_t last_end_ns = 0;    ///< when the last measured call returned; 0: none has
    bool full = false;           ///< all measured calls have been started
    uint32_t under_way = 0;      ///< measured calls that have been started and not completed
    uint32_t postponed = 0;      ///< agreements at which some rank had calls under way
};

/// What the ranks take the largest of at the end of a block.
using BlockSums = std::array<uint64_t, 6>;

/// Notes a measured call before it is made. `composed`: its datatype is one that other ranks may describe
/// otherwise.
void note_measured(Exploration& exploration, uint64_t bytes, bool composed) noexcept;

/// Adds the time of a blocking call.
void add_call(Exploration& exploration, uint32_t candidate, uint64_t begin_ns, uint64_t end_ns) noexcept;

BlockSums sums_of(const Exploration& exploration) noexcept;

/// Ends a block with the largest sums of all ranks; concludes when the learner has decided.
void end_block(Entry& entry, Exploration& exploration, const BlockSums& largest);

/// Ends a block of calls that do not block; false where some rank still has calls under way, and the ranks
/// have to agree once more.
bool end_started_block(Entry& entry, Exploration& exploration, const BlockSums& largest);

}  // namespace mpiric::select
