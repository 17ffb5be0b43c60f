// Bine (binomial negabinary) trees and butterflies. Partners are at distances 1, 1, 3, 5, 11, … in a ring of
// the ranks, alternately to the right and to the left, instead of 1, 2, 4, 8, …: fewer bytes leave groups of
// nodes, such as the nodes of a switch that a job has got, unless their sizes are powers of two. For powers
// of two.
//
// De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality. SC 2025;
// the butterfly: De Sensi, Bonato, Saam, Hoefler: Swing: Short-cutting Rings for Higher Bandwidth Allreduce.
// NSDI 2024.
#pragma once

#include "coll/blocks.hpp"
#include "coll/suits.hpp"
#include "coll/team.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace mpiric::coll {

/// Partners of ranks 0 … size − 1, and places of their blocks in a vector.
class Bine {
  public:
    explicit Bine(int size) noexcept : size_(size) {}

    int steps() const noexcept { return std::countr_zero(unsigned(size_)); }

    /// Step 0 has the nearest partner. Even ranks go (1 − (−2)^(step+1))/3 to the right, odd ones to
    /// the left.
    int peer(int rank, int step) const noexcept {
        int power = -2;
        for (int at = 0; at < step; ++at)
            power *= -2;
        const int distance = (1 - power) / 3;
        return ((rank + (rank % 2 ? -distance : distance)) % size_ + size_) % size_;
    }

    /// The step in which a tree rooted at rank 0 reaches a rank, when the farthest partners come first: all
    /// lower digits of its number in base −2 are equal. For the root, one after the last.
    int reached_in(int rank) const noexcept {
        constexpr unsigned odd_digits = 0xaaaaaaaa;
        const unsigned digits = (unsigned(rank) + odd_digits) ^ odd_digits;
        return rank ? std::countr_zero((digits & 1 ? ~digits : digits) | unsigned(size_)) - 1 : steps();
    }

    /// The ranks that two partners and the partners of later steps lead to are divided in halves by each
    /// step. Whether the half of `rank` is the upper one.
    bool is_upper(int rank, int step) const noexcept {
        return first(rank, step + 1) > first(peer(rank, step), step + 1);
    }

    /// A step of a butterfly, the nearest partner first. The blocks of each half are consecutive.
    struct Step {
        int peer;         ///< partner
        int kept, given;  ///< first blocks of the halves that the rank keeps and gives
        int blocks;       ///< number of blocks of a half
    };
    std::vector<Step> path(int rank) const {
        std::vector<Step> path;
        for (int step = 0, low = 0; step < steps(); ++step) {
            const int half = size_ >> (step + 1), upper = is_upper(rank, step) ? half : 0;
            path.push_back({peer(rank, step), low + upper, low + half - upper, half});
            low += upper;
        }
        return path;
    }

  private:
    /// The lowest of these ranks.
    int first(int rank, int step) const noexcept {
        return step == steps() ? rank : std::min(first(rank, step + 1), first(peer(rank, step), step + 1));
    }

    int size_;
};

/// Ranks of a team counted from the root.
struct FromRoot {
    const Group& everyone;
    int root;

    int me() const noexcept { return (everyone.rank - root + everyone.size) % everyone.size; }
    int operator[](int relative) const noexcept { return everyone[(relative + root) % everyone.size]; }
};

/// All ranks have their block of `data`, in bytes, and receive the other blocks: see bcast/bine.cpp.
int bine_allgather(const Team& team, const FromRoot& ranks, char* data, const Blocks& blocks) noexcept;

/// Whether Bine differs from a binomial tree.
inline bool has_bine(const Workload& workload) noexcept {
    return workload.layout.size > 2 && is_power(workload.layout.size);
}

}  // namespace mpiric::coll
